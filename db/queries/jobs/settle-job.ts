import { isTerminal, type JobEvent, jobTable } from '../../../src/domain/job/state.ts'
import { requireTransition } from '../../../src/domain/table/state-table.ts'
import type { Tx } from '../../client.ts'

export interface JobSettlement {
  readonly id: string
  readonly epoch: number
  readonly event: JobEvent
  readonly actor: string
  readonly reason?: string | null
  /** The reason as a sentence for people, where its code is not enough. */
  readonly message?: string | null
  /** JSON text. */
  readonly result?: string | null
  readonly error?: string | null
  readonly progress?: string | null
  readonly charge?: 'attempt' | 'environmentAttempt' | 'none'
  /** For `ready`: when it is due again. */
  readonly delayMs?: number
  readonly wait?: { reason: string; detail: string; untilMs: number; signal: string | null } | null
}

/** Whether the cancel of this running job was requested. Locks it, so that the answer holds until the commit. */
export const isCancelRequested = async (tx: Tx, job: { id: string; epoch: number }): Promise<boolean> => {
  const [row] = await tx<{ requested: boolean }[]>`
    select cancel_requested_at is not null as requested from job
    where id = ${job.id}::uuid and lease_epoch = ${job.epoch} and state = 'running' for update`
  return row?.requested ?? false
}

/** Ends a running job's turn in any way but a plain success, only while its epoch holds. */
export const settleJob = async (tx: Tx, s: JobSettlement): Promise<boolean> => {
  const { to, tells } = requireTransition(jobTable, 'running', s.event)
  const delayMs = s.delayMs ?? 0
  const [settled] = await tx<{ id: string }[]>`
    with settled as (
      update job set
        state = ${to}, lease_until = null,
        bell = ${delayMs > 0 ? 'held' : 'due'},
        run_after = case when ${to === 'ready'} then now() + ${delayMs}::float8 * interval '1 millisecond' else run_after end,
        attempt = attempt + ${s.charge === 'attempt' ? 1 : 0},
        environment_attempt = environment_attempt + ${s.charge === 'environmentAttempt' ? 1 : 0},
        progress = coalesce(${s.progress ?? null}::text::jsonb, progress),
        result = coalesce(${s.result ?? null}::text::jsonb, result),
        error = case when ${to === 'succeeded'} then null else coalesce(${s.error ?? null}::text::jsonb, error) end,
        wait_reason = ${s.wait?.reason ?? null}, wait_detail = ${s.wait?.detail ?? null},
        wait_since = case when ${s.wait ? 'yes' : 'no'} = 'yes' then now() end,
        wait_until = case when ${s.wait ? 'yes' : 'no'} = 'yes'
                          then now() + ${s.wait?.untilMs ?? 0}::float8 * interval '1 millisecond' end,
        wait_signal = ${s.wait?.signal ?? null},
        finished_at = case when ${isTerminal(to)} then now() end
      where id = ${s.id}::uuid and lease_epoch = ${s.epoch} and state = 'running'
      returning id, subject_type, subject_id
    ), told as (
      insert into event (type, subject_type, subject_id, job_id, actor, from_state, to_state, reason, detail)
      select ${tells}, subject_type, subject_id, id, ${s.actor}, 'running', ${to}, ${s.reason ?? null},
        jsonb_strip_nulls(jsonb_build_object('epoch', ${s.epoch}::bigint, 'error', ${s.error ?? null}::text::jsonb,
          'message', ${s.message ?? null}::text,
          'delay_ms', nullif(${delayMs}::float8, 0)))
      from settled
    )
    select id from settled`
  return settled !== undefined
}

import { type JobState, jobTable } from '../../../src/domain/job/state.ts'
import { requireTransition } from '../../../src/domain/table/state-table.ts'
import type { Tx } from '../../client.ts'

export interface LockedJob {
  readonly id: string
  readonly kind: string
  readonly state: JobState
  readonly generation: number
  readonly tokens: string[]
  readonly openEffects: number
  readonly cancelRequested: boolean
}

/** The job, locked until the transaction ends, and how many of its effects are open. */
export const lockJob = async (tx: Tx, jobId: string): Promise<LockedJob | undefined> => {
  const [row] = await tx<LockedJob[]>`
    select id, kind, state, generation, tokens, cancel_requested_at is not null as cancel_requested,
      (select count(*)::int from effect e where e.job_id = job.id and e.state in ('intended', 'done')) as open_effects
    from job where id = ${jobId}::uuid for update`
  return row
}

export interface CancelRequest {
  readonly by: string
  readonly reason: string
}

/** Ends a job that no worker runs and that left nothing outside. The caller holds its lock. */
export const cancelIdleJob = async (
  tx: Tx,
  job: Pick<LockedJob, 'id' | 'state'>,
  request: CancelRequest,
): Promise<void> => {
  const { to, tells } = requireTransition(jobTable, job.state, 'cancel')
  await tx`
    with canceled as (
      update job set state = ${to}, finished_at = now(), cancel_requested_at = now(),
        cancel_requested_by = ${request.by}, cancel_reason = ${request.reason}, wait_signal = null
      where id = ${job.id}::uuid and state = ${job.state} returning id, subject_type, subject_id
    )
    insert into event (type, subject_type, subject_id, job_id, actor, from_state, to_state, reason)
    select ${tells}, subject_type, subject_id, id, ${request.by}, ${job.state}, ${to}, ${request.reason} from canceled`
}

/** Requests the end of a job that runs or has effects to undo: a worker must end it. The job is due at once. */
export const requestJobCancel = async (
  tx: Tx,
  job: Pick<LockedJob, 'id' | 'state'>,
  request: CancelRequest,
): Promise<void> => {
  const { to, tells } = requireTransition(jobTable, job.state, 'ask-cancel')
  await tx`
    with asked as (
      update job set cancel_requested_at = now(), cancel_requested_by = ${request.by},
        cancel_reason = ${request.reason},
        state = ${to},
        bell = case when state = 'waiting' or bell = 'held' then 'due' else bell end,
        run_after = case when state = 'running' then run_after else now() end,
        wait_since = null, wait_until = null, wait_signal = null
      where id = ${job.id}::uuid and state = ${job.state} returning id, subject_type, subject_id
    )
    insert into event (type, subject_type, subject_id, job_id, actor, from_state, to_state, reason)
    select ${tells}, subject_type, subject_id, id, ${request.by}, ${job.state}, ${to}, ${request.reason} from asked`
}

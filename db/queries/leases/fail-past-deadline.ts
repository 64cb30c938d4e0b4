import type { KeptError } from '../../../src/domain/job/ends.ts'
import type { JobState } from '../../../src/domain/job/state.ts'
import type { Tx } from '../../client.ts'
import { jobSweep } from '../../state-words.ts'

export interface OverdueJob {
  readonly id: string
  readonly tokens: string[]
  readonly state: JobState
}

/** Jobs past their deadline, locked until the transaction ends. */
export const findOverdueJobs = async (tx: Tx, limit: number): Promise<OverdueJob[]> => tx<OverdueJob[]>`
  select id, tokens, state from job where deadline < now() and finished_at is null order by deadline limit ${limit}
  for update skip locked`

/**
 * Fails jobs past their deadline. A running job loses its lease too, so later writes of its handler are refused. The
 * caller holds their locks.
 */
export const failOverdueJobs = async (
  tx: Tx,
  jobs: readonly { readonly id: string; readonly error: KeptError }[],
): Promise<void> => {
  const move = jobSweep(tx, 'deadline')
  await tx`
    with overdue as (
      select j.id, j.state, o.error from job j
        join unnest(${jobs.map(({ id }) => id)}::uuid[], ${jobs.map(({ error }) => JSON.stringify(error))}::text[])
          as o(id, error) on j.id = o.id
      where j.state ${move.from}
    ), failed as (
      update job j set state = ${move.to}, finished_at = now(), lease_until = null, wait_signal = null,
        error = o.error::jsonb
      from overdue o where j.id = o.id
      returning j.id, j.subject_type, j.subject_id, j.lease_epoch, o.state as from_state
    )
    insert into event (type, subject_type, subject_id, job_id, actor, from_state, to_state, reason, detail)
    select ${move.tells}, subject_type, subject_id, id, 'conductor', from_state, ${move.to}, 'deadline-passed',
      case when from_state = 'running' then jsonb_build_object('epoch', lease_epoch) end
    from failed`
}

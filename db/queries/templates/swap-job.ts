import type { RecordedError } from '../../../src/errors.ts'
import type { Queryable, Tx } from '../../client.ts'
import { jobSweep } from '../../state-words.ts'

export interface SwapJob {
  readonly id: string
  readonly state: string
  /** Not ended. */
  readonly open: boolean
  readonly error: RecordedError | null
}

/** The newest job of a template; undefined: no job was sent, or the job is no longer kept. */
export const findSwapJob = async (db: Queryable, jobId: string | null): Promise<SwapJob | undefined> => {
  const [row] = await db<SwapJob[]>`
    select id, state, finished_at is null as open, error from job where id = ${jobId}::uuid`
  return row
}

/** Ends the wait or the pause of a job, because the cause of its wait may have changed. */
export const wakeSwapJob = async (tx: Tx, jobId: string, actor: string): Promise<void> => {
  const wake = jobSweep(tx, 'wake')
  await tx`
    with woken as (
      update job set state = ${wake.to}, bell = 'due', run_after = now(), wait_reason = null, wait_detail = null,
        wait_since = null, wait_until = null, wait_signal = null
      where id = ${jobId}::uuid and state ${wake.from} and wait_signal is distinct from 'token'
      returning id, subject_type, subject_id
    )
    insert into event (type, subject_type, subject_id, job_id, actor, from_state, to_state, reason)
    select ${wake.tells}, subject_type, subject_id, id, ${actor}, ${wake.was}, ${wake.to}, 'asked' from woken`
  await tx`
    update job set run_after = now(), bell = 'due'
    where id = ${jobId}::uuid and state = 'ready' and bell = 'held' and run_after > now()`
}

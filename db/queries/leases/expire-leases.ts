import type { KeptError } from '../../../src/domain/job/ends.ts'
import type { Tx } from '../../client.ts'
import { jobSweep } from '../../state-words.ts'

export interface SilentJob {
  readonly id: string
  readonly kind: string
  readonly tokens: string[]
  /** How many of its workers vanished before. */
  readonly lost: number
}

/** Jobs whose lease has expired, locked until the transaction ends. */
export const findSilentJobs = async (tx: Tx, limit: number): Promise<SilentJob[]> => tx<SilentJob[]>`
  select id, kind, tokens, lost from job where lease_until < now()
  order by lease_until limit ${limit} for update skip locked`

/**
 * Takes jobs back from silent workers: they are due again, or failed if an error is given. The epoch stays: the next
 * claim raises it, and from now on the old owner's writes do not apply because the job no longer runs. The caller
 * holds their locks.
 */
export const takeBackJobs = async (
  tx: Tx,
  jobs: readonly { readonly id: string; readonly error: KeptError | undefined }[],
): Promise<void> => {
  for (const event of ['lease-expired', 'give-up'] as const) {
    const some = jobs.filter(({ error }) => (error === undefined) === (event === 'lease-expired'))
    if (some.length === 0) continue
    const move = jobSweep(tx, event)
    await tx`
      with silent as (
        select j.id, j.worker_id, j.lease_epoch, s.error from job j
          join unnest(${some.map(({ id }) => id)}::uuid[], ${some.map(({ error }) => (error ? JSON.stringify(error) : null))}::text[])
            as s(id, error) on j.id = s.id
        where j.state ${move.from}
      ), taken as (
        update job j set state = ${move.to}, bell = 'due', run_after = now(), lost = j.lost + 1, lease_until = null,
          finished_at = ${event === 'give-up' ? tx`now()` : tx`null`}, error = coalesce(s.error::jsonb, j.error)
        from silent s where j.id = s.id
        returning j.id, j.subject_type, j.subject_id, s.worker_id, s.lease_epoch
      )
      insert into event (type, subject_type, subject_id, job_id, actor, from_state, to_state, reason, detail)
      select ${move.tells}, subject_type, subject_id, id, 'conductor', ${move.was}, ${move.to}, 'lease-expired',
        jsonb_build_object('worker', worker_id, 'epoch', lease_epoch)
      from taken`
  }
}

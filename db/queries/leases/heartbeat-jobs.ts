import type { Queryable } from '../../client.ts'
import { inOrder } from '../../in-order.ts'

export interface JobBeat {
  readonly id: string
  readonly epoch: number
  /** JSON text of the latest progress, or null when it has not changed. */
  readonly progress: string | null
}

export interface BeatAnswer {
  readonly id: string
  readonly epoch: number
  readonly cancelReason: string | null
  readonly cancelRequested: boolean
  /** False: the row was locked; the lease is as long as before. */
  readonly extended: boolean
}

/**
 * Extends leases, many at once. A job that is missing from the answer is lost: its handler must stop. A locked row is
 * skipped (`extended` is false): one long transaction must not cost the leases of all the other jobs of the process.
 */
export const heartbeatJobs = async (
  db: Queryable,
  beats: readonly JobBeat[],
  leaseMs: number,
): Promise<BeatAnswer[]> => {
  const ordered = inOrder(beats)
  return db<BeatAnswer[]>`
    with beat as materialized (
      select * from unnest(
        ${ordered.map((b) => b.id)}::uuid[], ${ordered.map((b) => b.epoch)}::bigint[],
        ${ordered.map((b) => b.progress)}::text[]
      ) as b(id, epoch, progress)
    ), free as materialized (
      select j.id from job j join beat b on j.id = b.id and j.lease_epoch = b.epoch and j.state = 'running'
      order by j.id for no key update of j skip locked
    ), extended as (
      update job j set lease_until = now() + ${leaseMs}::float8 * interval '1 millisecond',
        progress = coalesce(b.progress::jsonb, j.progress)
      from beat b join free on free.id = b.id where j.id = b.id
      returning j.id
    )
    select j.id, j.lease_epoch as epoch, j.cancel_reason, j.cancel_requested_at is not null as cancel_requested,
      exists (select from extended e where e.id = j.id) as extended
    from beat b join job j on j.id = b.id and j.lease_epoch = b.epoch and j.state = 'running'`
}

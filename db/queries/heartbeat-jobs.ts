import type { Queryable } from '../client.ts'
import { inOrder } from './in-order.ts'

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
}

/** Extends leases, many at once. A job that is missing from the answer is lost: its handler must stop. */
export const heartbeatJobs = async (
  db: Queryable,
  beats: readonly JobBeat[],
  leaseMs: number,
): Promise<BeatAnswer[]> => {
  const ordered = inOrder(beats)
  return db<BeatAnswer[]>`
  update job j set lease_until = now() + ${leaseMs}::float8 * interval '1 millisecond',
    progress = coalesce(b.progress::jsonb, j.progress)
  from unnest(
    ${ordered.map((b) => b.id)}::uuid[], ${ordered.map((b) => b.epoch)}::bigint[], ${ordered.map((b) => b.progress)}::text[]
  ) as b(id, epoch, progress)
  where j.id = b.id and j.lease_epoch = b.epoch and j.state = 'running'
  returning j.id, j.lease_epoch as epoch, j.cancel_reason, j.cancel_requested_at is not null as cancel_requested`
}

import type { Queryable } from '../../client.ts'

/** The jobs of this worker with a requested cancel. */
export const findCancelRequests = async (
  db: Queryable,
  workerId: string,
): Promise<{ id: string; cancelReason: string | null }[]> => db<
  { id: string; cancelReason: string | null }[]
>`
  select id, cancel_reason from job
  where worker_id = ${workerId}::uuid and cancel_requested_at is not null and finished_at is null
    and state = 'running'`

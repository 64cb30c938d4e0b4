import type { Queryable } from '../../client.ts'

/** The reason of a requested cancel; undefined: none was requested. */
export const findCancelRequest = async (db: Queryable, jobId: string): Promise<string | undefined> => {
  const [row] = await db<{ reason: string }[]>`
    select coalesce(cancel_reason, 'cancelled') as reason from job
    where id = ${jobId}::uuid and cancel_requested_at is not null`
  return row?.reason
}

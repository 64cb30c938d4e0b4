import type { Queryable } from '../../client.ts'

/** Removes one batch of processes that stopped long ago. Silent ones are left to another sweep. */
export const pruneWorkers = async (
  db: Queryable,
  options: { readonly days: number; readonly limit: number },
): Promise<number> => {
  const deleted = await db`
    delete from worker where id in (
      select id from worker where state in ('stopped', 'lost')
        and coalesce(stopped_at, heartbeat_at) < now() - ${options.days} * interval '1 day'
      limit ${options.limit} for update skip locked)`
  return deleted.count
}

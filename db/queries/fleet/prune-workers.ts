import type { Queryable } from '../../client.ts'

/** Removes one batch of processes that are gone since long. One that only went silent is not ours to judge. */
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

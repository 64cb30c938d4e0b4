import type { Queryable } from '../../client.ts'

/** Removes one batch of ended sessions that have expired by both clocks, the API's and the database's. */
export const pruneEndedSessions = async (
  db: Queryable,
  options: { readonly hours: number; readonly limit: number },
): Promise<number> => {
  const deleted = await db`
    delete from ended_session where id in (
      select id from ended_session where expires_at < now() - ${options.hours} * interval '1 hour'
      order by expires_at limit ${options.limit} for update skip locked)`
  return deleted.count
}

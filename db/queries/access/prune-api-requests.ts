import type { Queryable } from '../../client.ts'

/** Removes one batch of stored answers to repeated requests. */
export const pruneApiRequests = async (
  db: Queryable,
  options: { readonly hours: number; readonly limit: number },
): Promise<number> => {
  const deleted = await db`
    delete from api_request where (actor, key) in (
      select actor, key from api_request where created_at < now() - ${options.hours} * interval '1 hour'
      order by created_at limit ${options.limit} for update skip locked)`
  return deleted.count
}

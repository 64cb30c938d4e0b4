import type { Queryable } from '../../client.ts'

/** Removes one batch of signals that no wait can still be racing with. */
export const pruneSignals = async (
  db: Queryable,
  options: { readonly hours: number; readonly limit: number },
): Promise<number> => {
  const deleted = await db`
    delete from signal where name in (
      select name from signal where at < now() - ${options.hours} * interval '1 hour'
      limit ${options.limit} for update skip locked)`
  return deleted.count
}

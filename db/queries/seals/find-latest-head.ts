import type { Queryable } from '../../client.ts'

/**
 * The line of the last head that was handed out, from its event; the reader checks its signature. Ordered by
 * transaction: each connection takes ids ahead, so the higher id may be the older event.
 */
export const findLatestHead = async (db: Queryable): Promise<string | undefined> => {
  const [row] = await db<{ head: unknown }[]>`
    select detail->'head' as head from event
    where subject_type = 'event-chain' and subject_id = 'head' and job_id is null
    order by era desc, event.xid desc, id desc limit 1`
  return typeof row?.head === 'string' ? row.head : undefined
}

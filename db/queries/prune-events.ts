import type { Db, Queryable } from '../client.ts'
import type { SealRange } from './seal-events.ts'

type PrunableSeal = Pick<SealRange, 'seq' | 'era' | 'fromXid' | 'toXid'>

/**
 * Removes one batch of events that were sealed long ago: the oldest sealed range, or what is left of the last
 * one. The seal's row stays, marked in the same transaction, so the chain goes on to verify as links. An event
 * that is not sealed is never removed.
 */
export const pruneEvents = async (
  db: Db,
  options: { readonly days: number; readonly limit: number },
): Promise<{ readonly events: number; readonly more: boolean }> =>
  await db.begin(async (tx) => {
    const [last] = await tx<PrunableSeal[]>`
      select seq, era, from_xid::text as from_xid, to_xid::text as to_xid from event_seal
      where pruned_at is not null order by seq desc limit 1`
    const left = last ? await deleteRange(tx, last, options.limit) : 0
    if (left > 0) return { events: left, more: true }
    const [next] = await tx<PrunableSeal[]>`
      update event_seal set pruned_at = now()
      where seq = ${(last?.seq ?? 0) + 1} and pruned_at is null
        and sealed_at < now() - ${options.days} * interval '1 day'
      returning seq, era, from_xid::text as from_xid, to_xid::text as to_xid`
    if (!next) return { events: 0, more: false }
    return { events: await deleteRange(tx, next, options.limit), more: true }
  })

const deleteRange = async (tx: Queryable, seal: PrunableSeal, limit: number): Promise<number> => {
  const deleted = await tx`
    delete from event where (era, xid, id) in (
      select era, xid, id from event
      where era = ${seal.era} and xid >= ${seal.fromXid}::xid8 and xid < ${seal.toXid}::xid8
      order by xid, id limit ${limit})`
  return deleted.count
}

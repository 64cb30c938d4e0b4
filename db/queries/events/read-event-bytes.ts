import type { Queryable } from '../../client.ts'
import type { SealRange } from '../seals/seal-events.ts'

/** One event, column by column, in Postgres's own text form, unparsed. */
export type EventBytes = readonly (Buffer | null)[]

/** Below every id there can be. */
const lowestId = '-9223372036854775808'

/**
 * The events of a range in (xid, id) order, a page at a time, so that a range of any size takes the same memory. Bytes
 * as they come over the wire: no parser and no session setting can change them (times as seconds, because their text
 * depends on the time zone and the date style). `extract` and `::smallint` are grammar, everything else is qualified:
 * no function, type or table of another schema can take its place.
 */
export async function* readEventBytes(
  db: Queryable,
  range: Pick<SealRange, 'era' | 'fromXid' | 'toXid'>,
  pageRows: number,
): AsyncGenerator<readonly EventBytes[]> {
  let [xid, id] = [range.fromXid, lowestId]
  for (;;) {
    const rows = (await db`
      select era, xid, id, extract(epoch from at), type, subject_type, subject_id, job_id, actor, from_state,
        to_state, reason, detail
      from public.event
      where era = ${range.era}::smallint and xid < ${range.toXid}::pg_catalog.xid8
        and (xid, id) >= (${xid}::pg_catalog.xid8, ${id}::bigint)
      order by xid, id limit ${pageRows + 1}::bigint`.raw()) as unknown as readonly EventBytes[]
    // The next page begins with the row after the last, whatever its key: a duplicate key, possible only after the
    // primary key was dropped, is counted rather than skipped.
    const next = rows[pageRows]
    if (rows.length > 0) yield rows.slice(0, pageRows)
    if (!next) return
    ;[xid, id] = [String(next[1]), String(next[2])]
  }
}

/** The oldest event: pruned events must lie before it. */
export const oldestEvent = async (
  db: Queryable,
): Promise<{ readonly era: number; readonly xid: string } | undefined> => {
  const [row] = await db<{ era: number; xid: string }[]>`
    select era, xid::pg_catalog.text as xid from public.event
    order by event.era, event.xid, event.id limit 1`
  return row
}

import type { Queryable } from '../../client.ts'
import type { SealRange } from '../seals/seal-events.ts'
import type { PruneStatement } from '../seals/verify-seals.ts'

/**
 * Stores the statement and removes its events, at most `limit`. Called with the newest statement again, it continues
 * with that one. The database function belongs to the owner and checks the floor and the age of the rows itself.
 */
export const pruneEvents = async (
  tx: Queryable,
  statement: PruneStatement,
  limit: number,
): Promise<number> => {
  const [row] = await tx<{ deleted: number }[]>`
    select public.drover_prune_events(${statement.fromSeq}::bigint, ${statement.toSeq}::bigint,
      ${statement.kind}::pg_catalog.text, ${statement.keptDays}::integer, ${statement.throughHash}::pg_catalog.bytea,
      ${statement.prunedBy}::pg_catalog.text, ${new Date(statement.atMs)}::timestamp with time zone,
      ${statement.mac}::pg_catalog.bytea, ${limit}::integer) as deleted`
  return row?.deleted ?? 0
}

export const hasEvents = async (
  db: Queryable,
  range: Pick<SealRange, 'era' | 'fromXid' | 'toXid'>,
): Promise<boolean> => {
  const [row] = await db<{ found: boolean }[]>`
    select exists (select from public.event where era = ${range.era}::smallint
      and xid >= ${range.fromXid}::pg_catalog.xid8 and xid < ${range.toXid}::pg_catalog.xid8) as found`
  return row?.found ?? false
}

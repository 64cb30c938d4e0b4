import type { Queryable, Tx } from '../../client.ts'
import type { PruneStatement } from './verify-seals.ts'

/** Until the transaction ends nothing is sealed or pruned. */
export const lockSeals = async (tx: Tx): Promise<void> => {
  await tx`lock table public.event_seal, public.event_prune in share row exclusive mode`
}

export const deleteSealsFrom = async (tx: Queryable, seq: number): Promise<void> => {
  await tx`delete from public.event_seal where seq >= ${seq}::bigint`
}

/** Removes statements; the events that they removed stay removed. */
export const deleteStatements = async (
  tx: Queryable,
  { fromSeq, toSeq }: Pick<PruneStatement, 'fromSeq' | 'toSeq'>,
): Promise<void> => {
  await tx`delete from public.event_prune where from_seq between ${fromSeq}::bigint and ${toSeq}::bigint`
  await tx`update public.event_seal set pruned_at = null where seq between ${fromSeq}::bigint and ${toSeq}::bigint`
}

/** Inserts the statement alone: `drover_prune_events` would also delete its events. */
export const insertStatement = async (tx: Queryable, said: PruneStatement): Promise<void> => {
  await tx`
    insert into public.event_prune (from_seq, to_seq, kind, kept_days, through_hash, pruned_by, at, mac)
    values (${said.fromSeq}::bigint, ${said.toSeq}::bigint, ${said.kind}, ${said.keptDays}::integer, ${said.throughHash},
      ${said.prunedBy}, ${new Date(said.atMs)}, ${said.mac})`
  await tx`update public.event_seal set pruned_at = pg_catalog.clock_timestamp()
    where seq between ${said.fromSeq}::bigint and ${said.toSeq}::bigint`
}

/** The minimum age of events that `drover_prune_events` removes; undefined before the first `migrate`. */
export const readEventFloor = async (db: Queryable): Promise<number | undefined> => {
  const [row] = await db<{ days: number }[]>`select kept_days_min as days from public.event_floor`
  return row?.days
}

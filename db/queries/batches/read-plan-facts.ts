import type { HistorySample } from '../../../src/domain/migration/schedule/plan-forecast.ts'
import type { Queryable } from '../../client.ts'
import type { EntryRow } from '../../schema/migration.ts'

/** The tracking results of these instances, by id. */
export const readTracking = async (
  db: Queryable,
  ids: readonly string[],
): Promise<Map<string, Record<string, string>>> => {
  const rows = await db<{ id: string; tracking: Record<string, string> }[]>`
    select id, tracking from instance where id = any(${ids as string[]}::uuid[])`
  return new Map(rows.map(({ id, tracking }) => [id, tracking]))
}

/** The entries of one batch by instance. */
export const readEntriesOf = async (
  db: Queryable,
  batchId: string,
  instanceIds: readonly string[],
): Promise<Map<string, EntryRow>> => {
  const rows = await db<EntryRow[]>`
    select * from entry where batch_id = ${batchId}::uuid and instance_id = any(${instanceIds as string[]}::uuid[])`
  return new Map(rows.map((row) => [row.instanceId, row]))
}

/** The duration of the parts of the last migrations between two sites. */
export const readHistory = async (
  db: Queryable,
  pair: { readonly sourceId: string; readonly targetId: string },
  most: number,
): Promise<HistorySample[]> => db<HistorySample[]>`
  select phase, bytes, took_ms from entry_history
  where source_id = ${pair.sourceId}::uuid and target_id = ${pair.targetId}::uuid order by at desc limit ${most}`

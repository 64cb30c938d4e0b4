import type { Queryable, Tx } from '../../client.ts'
import type { WarningRow } from '../../schema/inventory.ts'

export interface WarningPlace {
  readonly entityType: string
  readonly entityId: string
  readonly entityName: string
}

/** The warnings of these types about a subject, locked. */
export const lockWarnings = async (
  tx: Tx,
  place: WarningPlace,
  types: readonly string[],
): Promise<WarningRow[]> => tx<WarningRow[]>`
  select * from warning where entity_type = ${place.entityType} and entity_id = ${place.entityId}
    and type = any(${types as string[]}::text[]) order by type for update`

/** Whether a subject has a warning of this type. */
export const findWarningOf = async (db: Queryable, place: WarningPlace, type: string): Promise<boolean> => {
  const rows = await db`
    select 1 from warning where entity_type = ${place.entityType} and entity_id = ${place.entityId} and type = ${type}`
  return rows.length > 0
}

export interface WarningWrite {
  readonly id: string
  readonly type: string
  /** JSON text. */
  readonly messages: string
  /** Contains a new sentence: a person who has seen the warning should look again. */
  readonly isNews: boolean
}

/** Raises or updates a warning. */
export const writeWarning = async (tx: Tx, place: WarningPlace, write: WarningWrite): Promise<void> => {
  await tx`
    insert into warning (id, type, entity_type, entity_id, entity_name, messages)
    values (${write.id}::uuid, ${write.type}, ${place.entityType}, ${place.entityId}, ${place.entityName},
      ${write.messages}::text::jsonb)
    on conflict (type, entity_type, entity_id) do update set messages = excluded.messages,
      entity_name = excluded.entity_name, count = warning.count + 1, last_seen_at = now(),
      status = case when ${write.isNews} then 'new' else warning.status end,
      acknowledged_by = case when ${write.isNews} then null else warning.acknowledged_by end,
      acknowledged_at = case when ${write.isNews} then null else warning.acknowledged_at end`
}

export const deleteWarnings = async (tx: Tx, ids: readonly string[]): Promise<void> => {
  if (ids.length > 0) await tx`delete from warning where id = any(${ids as string[]}::uuid[])`
}

/** The database's time, for times inside JSON. */
export const readNow = async (tx: Tx): Promise<string> => {
  const [row] = await tx<{ now: Date }[]>`select now() as now`
  return (row?.now ?? new Date(0)).toISOString()
}

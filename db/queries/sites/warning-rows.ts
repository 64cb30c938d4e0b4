import type { Queryable, Tx } from '../../client.ts'
import type { WarningRow } from '../../schema/inventory.ts'

interface WarningFilter {
  readonly status?: 'new' | 'acknowledged' | undefined
  readonly type?: string | undefined
  readonly entity?: { readonly type: string; readonly id: string } | undefined
}

/** Warnings, the newest first; a warning keeps its place when it is raised again. */
export const listWarnings = async (
  db: Queryable,
  filter: WarningFilter,
  page: { before: string | undefined; limit: number },
): Promise<WarningRow[]> => db<WarningRow[]>`
  select * from warning
  where ${filter.status === undefined ? db`true` : db`status = ${filter.status}`}
    and ${filter.type === undefined ? db`true` : db`type = ${filter.type}`}
    and ${
      filter.entity === undefined
        ? db`true`
        : db`entity_type = ${filter.entity.type} and ${filter.entity.id} in (entity_id, entity_name)`
    }
    and ${page.before === undefined ? db`true` : db`id < ${page.before}::uuid`}
  order by id desc limit ${page.limit}`

export const findWarning = async (db: Queryable, id: string): Promise<WarningRow | undefined> => {
  const [row] = await db<WarningRow[]>`select * from warning where id = ${id}::uuid`
  return row
}

/** The warning, locked until the transaction ends. */
export const lockWarning = async (tx: Tx, id: string): Promise<WarningRow | undefined> => {
  const [row] = await tx<WarningRow[]>`select * from warning where id = ${id}::uuid for update`
  return row
}

/** Marks a warning as read or unread. The caller holds its lock. */
export const writeWarningStatus = async (
  tx: Tx,
  id: string,
  status: 'new' | 'acknowledged',
  by: string,
): Promise<WarningRow> => {
  const known = status === 'acknowledged'
  const [row] = await tx<WarningRow[]>`
    update warning set status = ${status}, acknowledged_by = case when ${known} then ${by} end,
      acknowledged_at = case when ${known} then now() end
    where id = ${id}::uuid returning *`
  if (!row) throw new Error(`Warning ${id} vanished while its row was locked.`)
  return row
}

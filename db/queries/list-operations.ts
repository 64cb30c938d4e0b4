import type { Queryable } from '../client.ts'
import type { OperationRow } from '../schema/operation.ts'

/** An operation with what a reader wants beside it. */
export type OperationLine = OperationRow & {
  readonly machineName: string
  readonly target: string
  /** Ended ones that it took the place of. */
  readonly supersedes: readonly string[]
  /** How many are before it; null: it does not queue. */
  readonly position: number | null
  /** Who is at the machine, for one that queues. */
  readonly blocker: string | null
}

export interface OperationFilter {
  readonly machine?: string | undefined
  readonly kind?: readonly string[] | undefined
  readonly state?: readonly string[] | undefined
  readonly cause?: string | undefined
}

const columns = (db: Queryable) => db`
  o.*, m.name as machine_name, s.name as target,
  array(select older.id from operation older where older.superseded_by = o.id order by older.id) as supersedes,
  case when o.state = 'queued' then (select count(*)::int from operation before
    where before.machine_id = o.machine_id and before.settled_at is null and before.finished_at is null
      and before.id < o.id) end as position,
  case when o.state = 'queued' then (select active.id from operation active where active.machine_id = o.machine_id
    and active.state in ('pending', 'running')) end as blocker
  from operation o join machine m on m.id = o.machine_id join site s on s.id = m.target_id`

export const readOperation = async (db: Queryable, id: string): Promise<OperationLine | undefined> => {
  const [row] = await db<OperationLine[]>`select ${columns(db)} where o.id = ${id}::uuid`
  return row
}

/** Operations, the newest first. */
export const listOperations = async (
  db: Queryable,
  filter: OperationFilter,
  page: { readonly before: string | undefined; readonly limit: number },
): Promise<OperationLine[]> => db<OperationLine[]>`
  select ${columns(db)}
  where ${filter.machine === undefined ? db`true` : db`o.machine_id = ${filter.machine}::uuid`}
    and ${filter.kind === undefined ? db`true` : db`o.kind = any(${filter.kind as string[]}::text[])`}
    and ${filter.state === undefined ? db`true` : db`o.state = any(${filter.state as string[]}::text[])`}
    and ${filter.cause === undefined ? db`true` : db`o.cause = ${filter.cause}`}
    and ${page.before === undefined ? db`true` : db`o.id < ${page.before}::uuid`}
  order by o.id desc limit ${page.limit}`

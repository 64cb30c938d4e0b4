import type { RunPolicy } from '../../../src/domain/operation/kinds/applicability.ts'
import type { OperationKind } from '../../../src/domain/operation/kinds/kinds.ts'
import { type MachinePhase, phaseOf } from '../../../src/domain/operation/kinds/phase.ts'
import type { Queryable, Tx } from '../../client.ts'
import type { MachineRow } from '../../schema/operation.ts'

/** A machine with related data for a reader. */
export type MachineLine = MachineRow & {
  readonly target: string
  /** Its current operation, if any. */
  readonly operationId: string | null
  readonly operationKind: OperationKind | null
  readonly operationForce: boolean | null
  readonly operationState: string | null
  /** The operation has asked the platform for something. */
  readonly operationActed: boolean
  readonly queued: number
  /** The entry that made it or holds it now, if any. */
  readonly atEntry: string | null
  readonly batch: string | null
  /** That entry has not ended. */
  readonly inMigration: boolean
}

export interface MachineFilter {
  readonly target?: string | undefined
  readonly host?: string | undefined
  readonly project?: string | undefined
  readonly power?: string | undefined
  readonly runPolicy?: RunPolicy | undefined
  readonly origin?: string | undefined
  /** A part of the name, in any case. */
  readonly name?: string | undefined
  /** Includes machines that are gone. */
  readonly includeGone?: boolean | undefined
}

const columns = (db: Queryable) => db`
  m.*, s.name as target, a.id as operation_id, a.kind as operation_kind, a.force as operation_force,
  a.state as operation_state, a.started_at is not null as operation_acted,
  (select count(*)::int from operation q where q.machine_id = m.id and q.settled_at is null and q.state = 'queued')
    as queued,
  e.id as at_entry, e.batch, coalesce(e.state <> 'finished', false) as in_migration`

const from = (db: Queryable) => db`
  machine m join site s on s.id = m.target_id
  left join operation a on a.machine_id = m.id and a.state in ('pending', 'running')
  left join lateral (
    select e.id, e.state, b.name as batch from entry e join batch b on b.id = e.batch_id
    where e.id = m.entry_id or (e.target_id = m.target_id and e.machine_ref = m.ref)
    order by e.state = 'finished', e.id limit 1) e on true`

/** The condition on `m` (machine) and `s` (site). */
export const machineFits = (db: Queryable, filter: MachineFilter) => {
  const is = (column: string, value: string | undefined) =>
    value === undefined ? db`` : db`and ${db(column)} = ${value}`
  return db`
    ${filter.includeGone ? db`true` : db`m.gone_at is null`}
    ${is('s.name', filter.target)} ${is('m.host', filter.host)} ${is('m.project', filter.project)}
    ${is('m.power', filter.power)} ${is('m.run_policy', filter.runPolicy)} ${is('m.origin', filter.origin)}
    ${filter.name === undefined ? db`` : db`and strpos(lower(m.name), lower(${filter.name})) > 0`}`
}

/** In the order of first sight, which never changes, so that pages stay stable during a sync. */
export const listMachines = async (
  db: Queryable,
  filter: MachineFilter,
  page: { readonly after: string | undefined; readonly limit: number },
): Promise<MachineLine[]> => db<MachineLine[]>`
  select ${columns(db)} from ${from(db)}
  where ${machineFits(db, filter)} ${page.after === undefined ? db`` : db`and m.id > ${page.after}::uuid`}
  order by m.id limit ${page.limit}`

export const readMachine = async (db: Queryable, id: string): Promise<MachineLine | undefined> => {
  const [row] = await db<MachineLine[]>`select ${columns(db)} from ${from(db)} where m.id = ${id}::uuid`
  return row
}

/** The phase of a machine, from its last sight and its current operation. */
export const phaseOfLine = (line: MachineLine): MachinePhase =>
  phaseOf(
    { power: line.power, hibernated: line.savedState !== null },
    line.operationKind === null
      ? null
      : { kind: line.operationKind, force: line.operationForce ?? false, acted: line.operationActed },
  )

/** Sets the run policy; failures of the old policy no longer count. */
export const writeRunPolicy = async (tx: Tx, id: string, runPolicy: RunPolicy): Promise<void> => {
  await tx`
    update machine set run_policy = ${runPolicy}, version = version + 1, policy_failures = 0, policy_next_at = now()
    where id = ${id}::uuid`
}

import type { JobState } from '../../../src/domain/job/state.ts'
import type { OperationReason } from '../../../src/domain/operation/kinds/reasons.ts'
import {
  hasEnded,
  type OperationEvent,
  type OperationState,
  operationTable,
} from '../../../src/domain/operation/kinds/state.ts'
import { requireStart, sweepOf } from '../../../src/domain/table/state-table.ts'
import type { RecordedError } from '../../../src/errors.ts'
import { storableText } from '../../../src/storable.ts'
import type { Queryable, Tx } from '../../client.ts'
import type { OperationRow } from '../../schema/operation.ts'
import { isMachineDebt } from '../effects/machine-debts.ts'

/** An operation with the state of its job. */
export type OpenOperation = OperationRow & {
  readonly jobState: JobState | null
  readonly jobError: RecordedError | null
  /** The platform was asked for something. */
  readonly acted: boolean
  readonly expired: boolean
  /** Seconds beyond its deadline, without slot waits; null: none. */
  readonly overdueSeconds: number | null
  /** Its job has ended, and whether its task has is unknown. */
  readonly owes: boolean
}

const owes = (db: Queryable) =>
  db`exists (select from effect e where e.job_id = o.job_id and ${isMachineDebt(db)})`

/** All unsettled operations of a machine, in the order of request. */
export const findOpenOperations = async (db: Queryable, machineId: string): Promise<OpenOperation[]> =>
  await db<OpenOperation[]>`
    select o.*, j.state as job_state, j.error as job_error, o.started_at is not null as acted,
      o.expires_at <= now() as expired, ${owes(db)} as owes,
      case when o.deadline_at <= now() and o.in_line_since is null
        then extract(epoch from now() - o.deadline_at)::float8 end as overdue_seconds
    from operation o left join job j on j.id = o.job_id
    where o.machine_id = ${machineId}::uuid and o.settled_at is null order by o.seq`

export const findOperation = async (db: Queryable, id: string): Promise<OperationRow | undefined> => {
  const [row] = await db<OperationRow[]>`select * from operation where id = ${id}::uuid`
  return row
}

export type NewOperation = Pick<
  OperationRow,
  | 'id'
  | 'machineId'
  | 'kind'
  | 'force'
  | 'params'
  | 'onConflict'
  | 'cause'
  | 'standsDown'
  | 'resumes'
  | 'deadlineSeconds'
  | 'createdBy'
> & {
  readonly state: OperationState
  readonly reason: OperationReason
  readonly message: string
  readonly waitSeconds: number
  /** Of an evacuation: the host that the machine has to leave. */
  readonly leaves?: string | null
  /** Consecutive failures of the operations that it continues. */
  readonly failures?: number
}

export const insertOperation = async (tx: Tx, made: NewOperation): Promise<OperationRow> => {
  const [row] = await tx<OperationRow[]>`
    with made as (
      insert into operation (id, machine_id, kind, force, params, state, reason, message, on_conflict, cause,
        stands_down, resumes, leaves, failures, deadline_seconds, expires_at, created_by)
      values (${made.id}::uuid, ${made.machineId}::uuid, ${made.kind}, ${made.force},
        ${tx.json(made.params as never)}, ${requireStart(operationTable, made.state)}, ${made.reason}, ${storableText(made.message)},
        ${made.onConflict}, ${made.cause}, ${made.standsDown}, ${made.resumes}, ${made.leaves ?? null},
        ${made.failures ?? 0}, ${made.deadlineSeconds}, now() + ${made.waitSeconds} * interval '1 second',
        ${made.createdBy})
      returning *
    ), told as (
      insert into event (type, subject_type, subject_id, actor, to_state, reason, detail)
      select 'operation.' || state, 'operation', id, created_by, state, message,
        jsonb_build_object('machine', machine_id, 'kind', kind, 'force', force, 'cause', cause, 'reason', reason,
          'resumes', resumes)
      from made
    )
    select * from made`
  if (!row) throw new Error('An operation was not stored.')
  return row
}

export interface OperationMove {
  readonly id: string
  /** The event: the table says in which states it is possible, and where it leads. In other states nothing happens. */
  readonly event: OperationEvent
  /** Only while it is still in this state. */
  readonly seen?: OperationState
  readonly reason: OperationReason
  readonly message: string
  readonly actor: string
  readonly error?: RecordedError | null
  readonly supersededBy?: string
  readonly jobId?: string
  readonly result?: Readonly<Record<string, unknown>>
  /** Nothing of it is in progress any more. */
  readonly settled?: boolean
}

/** Moves an operation, with its event; undefined: it does not exist any more. */
export const moveOperation = async (tx: Tx, move: OperationMove): Promise<OperationRow | undefined> => {
  const { from, to } = sweepOf(operationTable, move.event, move.seen)
  const [row] = await tx<OperationRow[]>`
    with before as (
      select id, state from operation where id = ${move.id}::uuid and state = any(${from as string[]}::text[]) for update
    ), moved as (
      update operation o set state = ${to}, reason = ${move.reason},
        reason_at = case when o.reason = ${move.reason} then o.reason_at else now() end, message = ${storableText(move.message)},
        error = ${move.error ? tx.json(move.error as never) : null},
        superseded_by = coalesce(${move.supersededBy ?? null}::uuid, superseded_by),
        job_id = coalesce(${move.jobId ?? null}::uuid, job_id),
        result = ${move.result ? tx.json(move.result as never) : null},
        progress = case when ${to === 'completed'} then 100 else progress end,
        started_at = case when ${to === 'running'} then coalesce(started_at, now()) else started_at end,
        deadline_at = case when ${to === 'running'}
          then coalesce(deadline_at, now() + deadline_seconds * interval '1 second') else deadline_at end,
        finished_at = case when ${hasEnded(to)} then now() end,
        settled_at = case when ${move.settled ?? false} and not ${owes(tx)} then now() end, updated_at = now()
      from before where o.id = before.id returning o.*
    ), told as (
      insert into event (type, subject_type, subject_id, actor, from_state, to_state, reason, detail)
      select 'operation.' || m.state, 'operation', m.id, ${move.actor}, b.state, m.state, m.message,
        jsonb_build_object('machine', m.machine_id, 'kind', m.kind, 'force', m.force, 'cause', m.cause,
          'reason', m.reason, 'superseded_by', m.superseded_by)
      from moved m join before b on b.id = m.id
    ), ended as (
      insert into operation_end (kind, force, outcome, reason, waited_seconds, ran_seconds)
      select kind, force, state, reason, extract(epoch from coalesce(started_at, finished_at) - created_at),
        coalesce(extract(epoch from finished_at - started_at), 0)
      from moved where finished_at is not null
    )
    select * from moved`
  return row
}

/** Settles operations whose jobs have ended, unless a debt is left. */
export const settleOperations = async (tx: Tx, ids: readonly string[]): Promise<void> => {
  await tx`update operation o set settled_at = now(), updated_at = now()
    where id = any(${ids as string[]}::uuid[]) and settled_at is null and not ${owes(tx)}`
}

/** An operation with its times by the database's clock; a worker's own clock does not matter. */
export type OperationAtWork = OperationRow & {
  /** Its deadline has passed. */
  readonly overdue: boolean
  /** Until its deadline; constant during a slot wait. Null: it has not begun. */
  readonly leftMs: number | null
  /** Since it began. */
  readonly ranMs: number
}

/** Records the progress of a running operation. Its progress never goes back. */
export const noteOperation = async (
  tx: Tx,
  id: string,
  note: {
    readonly reason: OperationReason
    readonly message: string
    readonly progress?: number
    /** From here on it can only be completed; false: nothing has come of the request. */
    readonly pastReturn?: boolean
  },
): Promise<void> => {
  await tx`
    update operation set reason_at = case when reason = ${note.reason} then reason_at else now() end,
      reason = ${note.reason}, message = ${storableText(note.message)},
      progress = greatest(progress, least(99, ${note.progress ?? 0}::int)),
      past_return = coalesce(${note.pastReturn ?? null}::boolean, past_return), updated_at = now()
    where id = ${id}::uuid and state in ('pending', 'running')`
}

/** The operation of this job, locked, while it is its machine's current one. */
export const lockOperationOfJob = async (
  tx: Tx,
  of: { readonly operationId: string; readonly jobId: string },
): Promise<OperationAtWork | undefined> => {
  const [row] = await tx<OperationAtWork[]>`
    select *, coalesce(deadline_at <= coalesce(in_line_since, now()), false) as overdue,
      (extract(epoch from deadline_at - coalesce(in_line_since, now())) * 1000)::float8 as left_ms,
      coalesce(extract(epoch from now() - started_at) * 1000, 0)::float8 as ran_ms
    from operation where id = ${of.operationId}::uuid and job_id = ${of.jobId}::uuid
      and state in ('pending', 'running') for no key update`
  return row
}

export const setOperationJob = async (tx: Tx, id: string, jobId: string): Promise<OperationRow> => {
  const [row] = await tx<OperationRow[]>`
    update operation set job_id = ${jobId}::uuid, updated_at = now() where id = ${id}::uuid returning *`
  if (!row) throw new Error(`Operation ${id} is not there.`)
  return row
}

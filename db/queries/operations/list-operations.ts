import { type ReasonFacts, shownReason } from '../../../src/domain/operation/admission/shown-reason.ts'
import type { JobOfOperation } from '../../../src/domain/operation/admission/why-it-waits.ts'
import type { OperationReason } from '../../../src/domain/operation/kinds/reasons.ts'
import { activeStates, endedStates, type OperationState } from '../../../src/domain/operation/kinds/state.ts'
import type { Queryable } from '../../client.ts'
import type { OperationRow } from '../../schema/operation.ts'
import { idAt } from '../jobs/list-jobs.ts'
import { jobOfOperation, reasonFacts } from '../waits/reason-facts.ts'

/** An operation with related data for a reader. */
export type OperationLine = OperationRow &
  JobOfOperation & {
    readonly machineName: string
    readonly target: string
    /** The current reason: the stored one, or that of its job. */
    readonly shownReason: OperationReason
    /** Operations that it has superseded. */
    readonly supersedes: readonly string[]
    /** Ended operations of its machine that are still active. */
    readonly older: readonly string[]
    /** How many are before it; null: it is not queued. */
    readonly position: number | null
    /** How many are queued behind the current operation. */
    readonly behind: number
    /** The current operation of the machine, for a queued one. */
    readonly blocker: string | null
  }

export interface OperationFilter {
  readonly ids?: readonly string[] | undefined
  /** An id, or a name: then all machines with that name. */
  readonly machine?: string | undefined
  readonly target?: string | undefined
  readonly kind?: readonly string[] | undefined
  readonly state?: readonly string[] | undefined
  readonly reason?: string | undefined
  readonly cause?: string | undefined
  readonly since?: Date | undefined
}

/** A piece of a statement. */
type Sql = ReturnType<typeof jobOfOperation>

const columns = (db: Queryable, silentMs: number) => db`
  o.*, coalesce(m.name, '') as machine_name, coalesce(s.name, '') as target, ${reasonFacts(db, silentMs)},
  j.error as job_error, j.wait_detail as job_wait_detail, j.wait_since as job_wait_since,
  j.run_after as job_run_after, p.paused_by, p.paused_at,
  p.scope || ' ' || p.name || ': ' || p.reason as paused_what,
  array(select older.id from operation older where older.superseded_by = o.id order by older.seq) as supersedes,
  case when o.finished_at is null then array(select older.id from operation older where older.machine_id = o.machine_id
    and older.settled_at is null and older.finished_at is not null order by older.seq) else '{}' end as older,
  case when o.state = 'queued' then (select count(*)::int from operation before
    where before.machine_id = o.machine_id and before.settled_at is null and before.finished_at is null
      and before.seq < o.seq) end as position,
  case when o.state = any(${activeStates as unknown as string[]}::text[]) then (select count(*)::int from operation behind
    where behind.machine_id = o.machine_id and behind.settled_at is null and behind.state = 'queued') else 0 end as behind,
  case when o.state = 'queued' then (select active.id from operation active where active.machine_id = o.machine_id
    and active.state in ('pending', 'running')) end as blocker`

const joined = (db: Queryable, operations: Sql) => db`
  from ${operations} o left join machine m on m.id = o.machine_id left join site s on s.id = m.target_id
    ${jobOfOperation(db)}`

export const readOperation = async (
  db: Queryable,
  id: string,
  silentMs: number,
): Promise<OperationLine | undefined> => {
  const [row] = await db<OperationFacts[]>`
    select ${columns(db, silentMs)} ${joined(db, db`operation`)} where o.id = ${id}::uuid`
  return row && lineOf(row)
}

type OperationFacts = Omit<OperationLine, 'shownReason'> & ReasonFacts

const lineOf = (row: OperationFacts): OperationLine => ({ ...row, shownReason: shownReason(row) })

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

const ofMachine = (db: Queryable, machine: string) =>
  uuid.test(machine)
    ? db`o.machine_id = ${machine}::uuid`
    : db`o.machine_id in (select id from machine where name = ${machine})`

/** One value by equality: only then does an index return its rows in order. */
const isOneOf = (db: Queryable, column: Sql, values: readonly string[]) =>
  values.length === 1
    ? db`${column} = ${values[0] ?? ''}`
    : db`${column} = any(${values as string[]}::text[])`

const isAmong = (values: readonly string[], some: readonly string[]): boolean =>
  values.every((value) => some.includes(value))

/** Rare among ended operations: these states have their own index. */
const rareStates: readonly string[] = ['failed', 'canceled', 'superseded'] satisfies OperationState[]

/** Names states in the condition of their index: a generic plan knows nothing else. */
const inState = (db: Queryable, states: readonly string[]) => db`
  ${isOneOf(db, db`o.state`, states)} and ${
    isAmong(states, rareStates)
      ? db`o.state in ('failed', 'canceled', 'superseded')`
      : states.some((state) => (endedStates as readonly string[]).includes(state))
        ? db`true`
        : db`o.settled_at is null`
  }`

/** The same for the cause: nearly all operations are requested by people. */
const forCause = (db: Queryable, cause: string) => db`
  o.cause = ${cause} and ${cause === 'person' ? db`true` : db`o.cause <> 'person'`}`

/** An id contains its creation time: this bounds what is read. */
const slackMs = 3_600_000

export interface OperationPage {
  readonly before: string | undefined
  readonly limit: number
  readonly silentMs: number
}

const fits = (db: Queryable, filter: OperationFilter, before: string | undefined) => db`
  ${filter.machine === undefined ? db`true` : ofMachine(db, filter.machine)}
    and ${
      filter.target === undefined
        ? db`true`
        : db`o.machine_id in (select m.id from machine m join site s on s.id = m.target_id
            where s.role = 'target' and s.name = ${filter.target})`
    }
    and ${filter.ids === undefined ? db`true` : db`o.id = any(${filter.ids as string[]}::uuid[])`}
    and ${filter.kind === undefined ? db`true` : isOneOf(db, db`o.kind`, filter.kind)}
    and ${filter.state === undefined ? db`true` : inState(db, filter.state)}
    and ${filter.cause === undefined ? db`true` : forCause(db, filter.cause)}
    and ${
      filter.since === undefined
        ? db`true`
        : db`o.created_at >= ${filter.since} and o.id >= ${idAt(filter.since, -slackMs)}::uuid`
    }
    and ${before === undefined ? db`true` : db`o.id < ${before}::uuid`}`

/** The most open operations that one statement reads. */
const openRead = 1_000

/**
 * Open operations with this shown reason, the newest first. The job of an operation may give another reason than the
 * stored one, so each is checked; read in parts, until the page is full. `offset 0` makes Postgres find the open
 * operations by their own index: in the order of ids it would read every operation that has ended.
 */
const findOpenShowing = async (
  db: Queryable,
  filter: OperationFilter & { readonly reason: string },
  { before, limit, silentMs }: OperationPage,
): Promise<string[]> => {
  const showing: string[] = []
  for (let last = before; ; ) {
    const open = await db<(ReasonFacts & { id: string })[]>`
      select o.id, o.state, o.reason, ${reasonFacts(db, silentMs)}
      from (select * from operation where settled_at is null offset 0) o ${jobOfOperation(db)}
      where ${fits(db, filter, last)} order by o.id desc limit ${openRead}`
    showing.push(...open.filter((facts) => shownReason(facts) === filter.reason).map(({ id }) => id))
    if (showing.length >= limit || open.length < openRead) return showing.slice(0, limit)
    last = open.at(-1)?.id
  }
}

/**
 * The rows of a page and no more, with their related data. Settled operations have their reason stored. Both parts are
 * cut separately: together they could not be read in the order of an index.
 */
const pageRows = async (
  db: Queryable,
  filter: OperationFilter,
  page: OperationPage,
): Promise<{ rows: Sql }> => {
  const { before, limit } = page
  const { reason } = filter
  if (reason === undefined)
    return {
      rows: db`(select o.* from operation o where ${fits(db, filter, before)} order by o.id desc limit ${limit})`,
    }
  const open = await findOpenShowing(db, { ...filter, reason }, page)
  return {
    rows: db`(
      (select o.* from operation o where o.settled_at is not null and o.reason = ${reason}
        and ${fits(db, filter, before)} order by o.id desc limit ${limit})
      union all (select o.* from operation o where o.id = any(${open}::uuid[])))`,
  }
}

/** Operations, the newest first. */
export const listOperations = async (
  db: Queryable,
  filter: OperationFilter,
  page: OperationPage,
): Promise<OperationLine[]> => {
  const { rows } = await pageRows(db, filter, page)
  const lines = await db<OperationFacts[]>`
    select ${columns(db, page.silentMs)} ${joined(db, rows)} order by o.id desc limit ${page.limit}`
  return lines.map(lineOf)
}

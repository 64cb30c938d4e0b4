import { type OperationReason, operationReasons } from '../../src/domain/operation/reasons.ts'
import { activeStates, endedStates } from '../../src/domain/operation/state.ts'
import type { JobOfOperation } from '../../src/domain/operation/why-it-waits.ts'
import type { Queryable } from '../client.ts'
import type { OperationRow } from '../schema/operation.ts'
import { idAt } from './list-jobs.ts'

/** An operation with what a reader wants beside it. */
export type OperationLine = OperationRow &
  JobOfOperation & {
    readonly machineName: string
    readonly target: string
    /** Why it is where it is now: the stored word, or what its job says. */
    readonly shownReason: OperationReason
    /** Ended ones that it took the place of. */
    readonly supersedes: readonly string[]
    /** Ended ones of its machine that are still letting go. */
    readonly older: readonly string[]
    /** How many are before it; null: it does not queue. */
    readonly position: number | null
    /** Who is at the machine, for one that queues. */
    readonly blocker: string | null
  }

export interface OperationFilter {
  readonly ids?: readonly string[] | undefined
  /** An id, or a name: then all machines that are called so. */
  readonly machine?: string | undefined
  readonly kind?: readonly string[] | undefined
  readonly state?: readonly string[] | undefined
  readonly reason?: string | undefined
  readonly cause?: string | undefined
  readonly since?: Date | undefined
}

/** The only kind of job that operations have. */
const jobKind = 'operate-machine'

/**
 * What an active operation waits for is told by its job alone, so that it is never out of date; a worker that was
 * silent for `silentMs` does not count.
 */
const shownReason = (db: Queryable, silentMs: number) => db`
  case
    when o.state <> all(${activeStates as unknown as string[]}::text[]) or j.id is null then o.reason
    when j.state = 'waiting' and j.wait_reason = 'token' then 'awaiting-slot'
    when j.state = 'waiting' and j.wait_reason = any(${Object.keys(operationReasons)}::text[]) then j.wait_reason
    when j.state = 'ready' and p.scope is not null then 'paused'
    when j.state = 'ready' and j.run_after > now() and j.error is not null then 'retrying'
    when j.state = 'ready' and not exists (select from worker w where w.role = 'worker' and w.state = 'active'
      and w.kinds ? ${jobKind} and w.heartbeat_at > now() - ${silentMs}::float8 * interval '1 millisecond')
      then 'no-worker'
    else o.reason
  end`

const columns = (db: Queryable, silentMs: number) => db`
  o.*, coalesce(m.name, '') as machine_name, coalesce(s.name, '') as target, ${shownReason(db, silentMs)} as shown_reason,
  j.state as job_state, j.error as job_error, j.wait_detail as job_wait_detail, j.wait_since as job_wait_since,
  j.wait_until as job_wait_until, j.run_after as job_run_after, p.paused_by, p.paused_at,
  p.scope || ' ' || p.name || ': ' || p.reason as paused_what,
  array(select older.id from operation older where older.superseded_by = o.id order by older.id) as supersedes,
  case when o.finished_at is null then array(select older.id from operation older where older.machine_id = o.machine_id
    and older.settled_at is null and older.finished_at is not null order by older.id) else '{}' end as older,
  case when o.state = 'queued' then (select count(*)::int from operation before
    where before.machine_id = o.machine_id and before.settled_at is null and before.finished_at is null
      and before.id < o.id) end as position,
  case when o.state = 'queued' then (select active.id from operation active where active.machine_id = o.machine_id
    and active.state in ('pending', 'running')) end as blocker
  from operation o left join machine m on m.id = o.machine_id left join site s on s.id = m.target_id
    left join job j on j.id = o.job_id and o.finished_at is null
    left join lateral (select * from pause where (scope = 'kind' and name = j.kind) or (scope = 'lane' and name = j.lane)
      order by scope limit 1) p on true`

export const readOperation = async (
  db: Queryable,
  id: string,
  silentMs: number,
): Promise<OperationLine | undefined> => {
  const [row] = await db<OperationLine[]>`select ${columns(db, silentMs)} where o.id = ${id}::uuid`
  return row
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

const ofMachine = (db: Queryable, machine: string) =>
  uuid.test(machine)
    ? db`o.machine_id = ${machine}::uuid`
    : db`o.machine_id in (select id from machine where name = ${machine})`

/** Says of states that are not ended in the words of the index of open ones. */
const inState = (db: Queryable, states: readonly string[]) => db`
  o.state = any(${states as string[]}::text[]) and ${
    states.some((state) => (endedStates as readonly string[]).includes(state))
      ? db`true`
      : db`o.settled_at is null`
  }`

/** Of one that is not active the stored word is the shown one: only of the few that are is their job asked. */
const forReason = (db: Queryable, reason: string, silentMs: number) => db`
  (o.reason = ${reason} or (o.settled_at is null and o.state = any(${activeStates as unknown as string[]}::text[])))
  and ${shownReason(db, silentMs)} = ${reason}`

/** An id holds the millisecond of its making: this bounds what is read. */
const slackMs = 3_600_000

/** Operations, the newest first. */
export const listOperations = async (
  db: Queryable,
  filter: OperationFilter,
  page: { readonly before: string | undefined; readonly limit: number; readonly silentMs: number },
): Promise<OperationLine[]> => db<OperationLine[]>`
  select ${columns(db, page.silentMs)}
  where ${filter.machine === undefined ? db`true` : ofMachine(db, filter.machine)}
    and ${filter.ids === undefined ? db`true` : db`o.id = any(${filter.ids as string[]}::uuid[])`}
    and ${filter.kind === undefined ? db`true` : db`o.kind = any(${filter.kind as string[]}::text[])`}
    and ${filter.state === undefined ? db`true` : inState(db, filter.state)}
    and ${filter.reason === undefined ? db`true` : forReason(db, filter.reason, page.silentMs)}
    and ${filter.cause === undefined ? db`true` : db`o.cause = ${filter.cause}`}
    and ${
      filter.since === undefined
        ? db`true`
        : db`o.created_at >= ${filter.since} and o.id >= ${idAt(filter.since, -slackMs)}::uuid`
    }
    and ${page.before === undefined ? db`true` : db`o.id < ${page.before}::uuid`}
  order by o.id desc limit ${page.limit}`

import type { Queryable } from '../../client.ts'
import type { JobEventLine } from './list-job-events.ts'

/**
 * A position in the order of all events: everything up to it has been read. Text form:
 * src/ledger/events/event-cursor.ts.
 */
export interface EventCursor {
  readonly era: number
  /** A transaction id as text: 64 bits do not fit a number. */
  readonly xid: string
  readonly id: number
}

export interface FeedEvent {
  readonly cursor: EventCursor
  readonly at: Date
  readonly type: string
  readonly subject: { readonly type: string; readonly id: string }
  readonly job: string | null
  readonly actor: string
  readonly from: string | null
  readonly to: string | null
  readonly reason: string | null
  readonly detail: Readonly<Record<string, unknown>> | null
}

export interface EventFilter {
  /** Exact, or a prefix ending in `*`. Empty: all. */
  readonly types?: readonly string[] | undefined
  readonly subject?: { readonly type: string; readonly id: string } | undefined
}

export interface ReadEventsOptions extends EventFilter {
  readonly limit: number
  /** The most rows read for `limit` matches, so that a rare type never makes a slow statement. */
  readonly scanMax?: number
}

export interface EventPage {
  readonly events: readonly FeedEvent[]
  /** Where to continue. Moves past events that the filter left out, too. */
  readonly next: EventCursor
  /** Nothing more can be read now. */
  readonly end: boolean
}

type EventLine = JobEventLine & { readonly last: boolean }

export const startCursor: EventCursor = { era: 0, xid: '0', id: 0 }

/** The era of new events, as SQL. Missing until the first restore into another cluster. */
const currentEra = (db: Queryable) =>
  db`coalesce((select value::smallint from ledger_fact where name = 'era'), 1::smallint)`

/** A cursor after every event that can be read now. */
export const headCursor = async (db: Queryable): Promise<EventCursor> => {
  const [head] = await db<EventCursor[]>`
    select ${currentEra(db)} as era, pg_snapshot_xmin(pg_current_snapshot())::text as xid, 0::bigint as id`
  if (!head) throw new Error('Postgres did not answer where the events end.')
  return head
}

/**
 * The next events in order. Reads only below the oldest running transaction: later commits sort after that, so a
 * cursor never passes an unseen event. Both limits are row comparisons over the primary key, so a page costs the same
 * at any depth, also while a long transaction holds the end back.
 */
export const readEventsAfter = async (
  db: Queryable,
  cursor: EventCursor | 'start' | 'now',
  options: ReadEventsOptions,
): Promise<EventPage> => {
  if (cursor === 'now') return { events: [], next: await headCursor(db), end: true }
  const after = cursor === 'start' ? startCursor : cursor
  const scanMax = Math.max(options.scanMax ?? 2_000, options.limit)
  // The last row read is returned even if unwanted: the next page begins there.
  const lines = await db<(EventLine & { wanted: boolean; looked: number })[]>`
    with page as materialized (
      select * from event
      where (era, xid, id) > (${after.era}::smallint, ${after.xid}::xid8, ${after.id}::bigint)
        and (era, xid) < (${currentEra(db)}, pg_snapshot_xmin(pg_current_snapshot()))
      order by era, xid, id
      limit ${scanMax}
    ), numbered as (
      select *, row_number() over (order by era, xid, id) as place, count(*) over () as looked,
        ${wanted(db, options)} as wanted
      from page
    )
    select era, xid::text as xid, id, at, type, subject_type, subject_id, job_id, actor, from_state, to_state,
      reason, detail, wanted, looked::int as looked
    from numbered where wanted or place = looked
    order by place
    limit ${options.limit + 1}`
  return pageOf(lines, after, options.limit, scanMax)
}

const wanted = (db: Queryable, filter: EventFilter) => {
  const types = filter.types ?? []
  const exact = types.filter((type) => !type.endsWith('*'))
  const prefixes = types.filter((type) => type.endsWith('*')).map((type) => type.slice(0, -1))
  const byType =
    types.length === 0
      ? db`true`
      : db`(type = any(${exact}::text[])
          or exists (select 1 from unnest(${prefixes}::text[]) prefix where starts_with(type, prefix)))`
  const bySubject = filter.subject
    ? db`(subject_type = ${filter.subject.type} and subject_id = ${filter.subject.id})`
    : db`true`
  return db`(${byType} and ${bySubject})`
}

const pageOf = (
  lines: readonly (EventLine & { wanted: boolean; looked: number })[],
  after: EventCursor,
  limit: number,
  scanMax: number,
): EventPage => {
  const events = lines.filter((line) => line.wanted).slice(0, limit)
  // More than `limit` lines: the rest of what was read is not evaluated yet.
  const cutShort = lines.length > limit && lines[limit]?.wanted === true
  const last = cutShort ? events.at(-1) : lines.at(-1)
  return {
    events: events.map(toFeedEvent),
    next: last ? cursorOf(last) : after,
    end: !cutShort && (lines[0]?.looked ?? 0) < scanMax,
  }
}

const cursorOf = (line: EventLine): EventCursor => ({ era: line.era, xid: line.xid, id: line.id })

const toFeedEvent = (line: EventLine): FeedEvent => ({
  cursor: cursorOf(line),
  at: line.at,
  type: line.type,
  subject: { type: line.subjectType, id: line.subjectId },
  job: line.jobId,
  actor: line.actor,
  from: line.fromState,
  to: line.toState,
  reason: line.reason,
  detail: line.detail,
})

/** The same filter as in the SQL above, for events in memory. */
export const matchesFilter = (event: FeedEvent, filter: EventFilter): boolean => {
  const { types, subject } = filter
  if (subject && (event.subject.type !== subject.type || event.subject.id !== subject.id)) return false
  if (!types || types.length === 0) return true
  return types.some((type) =>
    type.endsWith('*') ? event.type.startsWith(type.slice(0, -1)) : event.type === type,
  )
}

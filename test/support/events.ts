import type { Queryable } from '../../db/client.ts'
import {
  type EventFilter,
  type FeedEvent,
  readEventsAfter,
} from '../../db/queries/events/read-events-after.ts'
import { sealEvents } from '../../src/ledger/seals/seal-events.ts'
import { createLog } from '../../src/process/log.ts'
import { createSealer, type Sealer } from '../../src/seal/seal.ts'
import { until } from './wait.ts'

export const quietLog = createLog({ role: 'test', level: 'silent' })
export const testSealer = createSealer('5a'.repeat(32))

export interface WrittenEvent {
  readonly type?: string
  readonly subject?: string
  readonly reason?: string
}

/** Writes events in one statement, so in one transaction unless `db` is one already. */
export const writeEvents = async (
  db: Queryable,
  events: readonly WrittenEvent[],
  daysAgo = 0,
): Promise<void> => {
  await db`
    insert into event (at, type, subject_type, subject_id, actor, reason, detail)
    select now() - ${daysAgo}::int * interval '24 hours', type, 'thing', subject, 'test', reason,
      '{"b": 1, "a": [true, null]}'::jsonb
    from unnest(${events.map((event) => event.type ?? 'thing.changed')}::text[],
      ${events.map((event) => event.subject ?? 'one')}::text[],
      ${events.map((event) => event.reason ?? 'why')}::text[]) as written (type, subject, reason)`
}

const dayMs = 86_400_000

/** Seals all that is committed, as if it were so many days ago. */
export const sealAll = async (
  db: Queryable,
  options: {
    readonly eventsMax?: number
    readonly daysAgo?: number
    readonly sealer?: Pick<Sealer, 'mac'>
  } = {},
): Promise<void> => {
  await untilReadable(db)
  const { eventsMax = 4, daysAgo = 0, sealer = testSealer } = options
  const nowMs = Date.now() - daysAgo * dayMs
  for (;;) if ((await sealEvents({ db, sealer, eventsMax, nowMs })) === 'nothing') return
}

/** What retention needs to prune events. */
export const pruning = { sealer: testSealer, eventsKeptDaysMin: 30, by: 'test' } as const

/**
 * Waits until everything that is committed can be read. Transactions of other databases of the same server hold
 * the end back for a moment.
 */
export const untilReadable = async (db: Queryable): Promise<void> => {
  await until(
    async () => {
      const [row] = await db<{ readable: boolean }[]>`
        select not exists (select 1 from event where xid >= pg_snapshot_xmin(pg_current_snapshot())) as readable`
      return row?.readable
    },
    { what: 'all committed events to be readable' },
  )
}

/** Everything there is, page by page. */
export const readAll = async (db: Queryable, filter: EventFilter = {}, limit = 3): Promise<FeedEvent[]> => {
  const all: FeedEvent[] = []
  let cursor: Parameters<typeof readEventsAfter>[1] = 'start'
  for (;;) {
    const page = await readEventsAfter(db, cursor, { ...filter, limit, scanMax: 5 })
    all.push(...page.events)
    cursor = page.next
    if (page.end) return all
  }
}

export const reasons = (events: readonly FeedEvent[]): (string | null)[] =>
  events.map((event) => event.reason)

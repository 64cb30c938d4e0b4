import { describe, expect, test } from 'vitest'
import { openDb } from '../../../db/client.ts'
import { type FeedEvent, headCursor, readEventsAfter } from '../../../db/queries/events/read-events-after.ts'
import { systemClock } from '../../../src/clock.ts'
import { EventFeed, type EventFeedOptions } from '../../../src/ledger/events/event-feed.ts'
import { atEnd } from '../../support/cleanup.ts'
import { quietLog, readAll, reasons, untilReadable, writeEvents } from '../../support/events.ts'
import { createDatabase, reserveConnection } from '../../support/postgres.ts'
import { until } from '../../support/wait.ts'

const setUp = async () => {
  const { db, url } = await createDatabase()
  const startFeed = (options: Partial<EventFeedOptions> = {}): EventFeed => {
    const feed = new EventFeed({ db, clock: systemClock, log: quietLog, pollMs: 20, ...options })
    feed.start()
    atEnd(() => feed.stop())
    return feed
  }
  return { db, url, startFeed }
}

const many = (count: number, from = 0) =>
  Array.from({ length: count }, (_, at) => ({ reason: String(from + at), type: `t.${(from + at) % 4}` }))

const numbers = (count: number) => Array.from({ length: count }, (_, at) => String(at))

describe('reading events', () => {
  // promise: event-feed
  test('an event that commits after a younger one is not missed', async () => {
    const { db } = await setUp()
    const early = await reserveConnection(db)
    try {
      await early`begin`
      await writeEvents(early, [{ reason: 'first id, last commit' }])
      await writeEvents(db, [{ reason: 'last id, first commit' }])
      const before = await readEventsAfter(db, 'start', { limit: 10 })
      expect(before.events).toEqual([])
      const head = await headCursor(db)
      await early`commit`
      await untilReadable(db)
      const after = await readEventsAfter(db, before.next, { limit: 10 })
      expect(reasons(after.events)).toEqual(['first id, last commit', 'last id, first commit'])
      expect((await readEventsAfter(db, head, { limit: 10 })).events).toHaveLength(2)
    } finally {
      early.release()
    }
  })

  test('pages give every event once, in order, whatever the filter leaves out', async () => {
    const { db } = await setUp()
    for (const event of many(23)) await writeEvents(db, [event])
    await untilReadable(db)
    expect(reasons(await readAll(db))).toEqual(numbers(23))
    expect(reasons(await readAll(db, { types: ['t.1'] }))).toEqual(['1', '5', '9', '13', '17', '21'])
    expect(reasons(await readAll(db, { types: ['t.1', 't.2'] }, 1))).toHaveLength(12)
    expect(await readAll(db, { types: ['t*'] })).toHaveLength(23)
    expect(await readAll(db, { types: ['%*', '_.1'] })).toEqual([])
    expect(await readAll(db, { subject: { type: 'thing', id: 'other' } })).toEqual([])
  })

  test('a filter that matches nothing still moves the cursor to the end', async () => {
    const { db } = await setUp()
    await writeEvents(db, many(8))
    await untilReadable(db)
    const all = await readEventsAfter(db, 'start', { limit: 100 })
    const none = await readEventsAfter(db, 'start', { limit: 100, types: ['nothing'] })
    expect(none.events).toEqual([])
    expect(none.next).toEqual(all.events.at(-1)?.cursor)
  })

  test('a page is read from the primary key, with both of its ends', async () => {
    const { db } = await setUp()
    for (let at = 0; at < 20; at += 1) await writeEvents(db, many(100, at * 100))
    await db`analyze event`
    const middle = (await readEventsAfter(db, 'start', { limit: 1_000 })).next
    const plan = await db.unsafe(`explain (format text) select * from event
      where (era, xid, id) > (${middle.era}::smallint, '${middle.xid}'::xid8, ${middle.id}::bigint)
        and (era, xid) < (coalesce((select value::smallint from ledger_fact where name = 'era'), 1::smallint),
          pg_snapshot_xmin(pg_current_snapshot()))
      order by era, xid, id limit 50`)
    const text = plan.map((line) => String(Object.values(line)[0])).join('\n')
    expect(text).toContain('Index Scan using event_era_xid_id_pk')
    expect(text).toMatch(/Index Cond: .*ROW\(era, xid, id\) > .*ROW\(era, xid\) </)
  })
})

describe('the feed', () => {
  // promise: event-feed
  test('a late joiner reads its past, then goes on live, without a gap or an event twice', async () => {
    const { db, startFeed } = await setUp()
    const feed = startFeed({ pageMax: 7 })
    const [seen, live]: FeedEvent[][] = [[], []]
    feed.subscribe({ after: 'start' }, (events) => void live?.push(...events))
    for (let at = 0; at < 30; at += 1) await writeEvents(db, many(10, at * 10))
    feed.subscribe({ after: 'start' }, (events) => void seen?.push(...events))
    for (let at = 30; at < 60; at += 1) await writeEvents(db, many(10, at * 10))
    await until(() => seen?.length === 600 && live?.length === 600, { what: 'both to have all events' })
    expect(reasons(seen ?? [])).toEqual(numbers(600))
    expect(reasons(live ?? [])).toEqual(numbers(600))
  })

  test('a subscriber of a type, of a subject and of now gets only those', async () => {
    const { db, startFeed } = await setUp()
    await writeEvents(db, [{ reason: 'before' }])
    await untilReadable(db)
    const feed = startFeed()
    const [typed, subject, now]: FeedEvent[][] = [[], [], []]
    feed.subscribe({ after: 'start', types: ['a.*'] }, (events) => void typed?.push(...events))
    feed.subscribe({ after: 'start', subject: { type: 'thing', id: 'two' } }, (e) => void subject?.push(...e))
    feed.subscribe({ after: await headCursor(db) }, (events) => void now?.push(...events))
    await writeEvents(db, [
      { type: 'a.x', reason: 'typed' },
      { subject: 'two', reason: 'subject' },
    ])
    await until(() => typed?.length && subject?.length && now?.length === 2, { what: 'all to be served' })
    expect([reasons(typed ?? []), reasons(subject ?? [])]).toEqual([['typed'], ['subject']])
    expect(reasons(now ?? [])).toEqual(['typed', 'subject'])
  })

  test('the number of queries does not grow with the number of subscribers', async () => {
    const { db, url } = await setUp()
    let queries = 0
    const counted = openDb({ url, max: 4, applicationName: 'counted' })
    atEnd(() => counted.end({ timeout: 5 }))
    const counting = new Proxy(counted, {
      apply: (target, self, args: unknown[]) => {
        const [strings] = args
        if (Array.isArray(strings) && String(strings[0]).includes('with page as')) queries += 1
        return Reflect.apply(target, self, args)
      },
    })
    const feed = new EventFeed({ db: counting, clock: systemClock, log: quietLog, pollMs: 3_600_000 })
    feed.start()
    atEnd(() => feed.stop())
    const served: FeedEvent[] = []
    for (let at = 0; at < 100; at += 1) feed.subscribe({}, (events) => void served.push(...events))
    await until(() => queries > 0, { what: 'the tail to begin' })
    queries = 0
    await writeEvents(db, many(3))
    await untilReadable(db)
    feed.wake()
    await until(() => served.length === 300, { what: 'all 100 to get 3 events' })
    expect(queries).toBeLessThanOrEqual(3)
  })

  // promise: slow-receiver
  test('a slow subscriber waits alone, and is dropped when its buffer is full', async () => {
    const { db, startFeed } = await setUp()
    const feed = startFeed({ bufferMax: 20 })
    const quick: FeedEvent[] = []
    const ends: string[] = []
    let calls = 0
    feed.subscribe({ after: 'start' }, (events) => void quick.push(...events))
    // On the tail from the start: one that is stuck in its own past keeps nothing, and nobody waits for it.
    feed.subscribe({ after: 'now', onEnd: (end) => ends.push(end) }, () => {
      calls += 1
      return new Promise(() => {})
    })
    let written = 0
    await until(
      async () => {
        await writeEvents(db, many(5, written))
        written += 5
        await until(() => quick.length === written, { what: 'the quick one to have all' })
        return ends.length > 0
      },
      { what: 'the slow one to be dropped' },
    )
    expect(ends).toEqual(['slow'])
    expect(calls).toBe(1)
    expect(feed.subscribers).toBe(1)
  })

  test('a subscriber that throws is dropped; one that leaves gets nothing more; stop ends the rest', async () => {
    const { db, startFeed } = await setUp()
    const feed = startFeed()
    const ends: string[] = []
    const onEnd = (end: string) => void ends.push(end)
    const seen: FeedEvent[] = []
    feed.subscribe({ after: 'start', onEnd }, () => Promise.reject(new Error('broken pipe')))
    const leave = feed.subscribe({ after: 'start', onEnd }, (events) => {
      seen.push(...events)
      leave()
    })
    feed.subscribe({ after: 'start', onEnd }, () => {})
    await writeEvents(db, many(2))
    await until(() => ends.length === 1 && seen.length === 2, { what: 'the first end' })
    await writeEvents(db, many(2))
    await untilReadable(db)
    await feed.stop()
    expect(ends).toEqual(['failed', 'stopped'])
    expect(seen).toHaveLength(2)
    expect(() => feed.subscribe({}, () => {})).toThrow('not started')
  })
})

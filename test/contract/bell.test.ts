import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DroverError } from '../../src/errors.ts'
import { type Bell, bellId, type HeardBell, type Ring } from '../../src/ledger/bell/bell.ts'
import { PostgresBell } from '../../src/ledger/bell/bell-postgres.ts'
import { RedisBell } from '../../src/ledger/bell/bell-redis.ts'
import { createLog } from '../../src/process/log.ts'
import { dropBellSchema } from '../support/bells.ts'
import { atEnd } from '../support/cleanup.ts'
import { quietLog } from '../support/events.ts'
import { createDatabase } from '../support/postgres.ts'
import { startRedis } from '../support/redis.ts'
import { startProxy } from '../support/tcp-proxy.ts'
import { settles, until } from '../support/wait.ts'

/** One of the stores a bell may be kept in, and how to be cruel to it. */
interface Store {
  readonly name: 'redis' | 'postgres'
  open(): Bell
  /** A bell whose way to the store can be cut. */
  openBehindProxy(): Promise<{ bell: Bell; proxy: Awaited<ReturnType<typeof startProxy>> }>
  /** Loses all it holds. */
  flush(): Promise<void>
}

const redis = await startRedis()
const database = await createDatabase()
const portOf = (url: string) => Number(new URL(url).port)
const through = (url: string, port: number) => {
  const changed = new URL(url)
  changed.hostname = '127.0.0.1'
  changed.port = String(port)
  return changed.href
}

const openRedis = (url: string): Bell => new RedisBell({ url, log: quietLog })
const openPostgres = (url: string): Bell => new PostgresBell({ url, log: quietLog })

const stores: readonly Store[] = [
  {
    name: 'redis',
    open: () => openRedis(redis.url),
    openBehindProxy: async () => {
      const proxy = await startProxy({ targetPort: portOf(redis.url) })
      return { proxy, bell: openRedis(through(redis.url, proxy.port)) }
    },
    flush: async () => void (await redis.send('FLUSHALL')),
  },
  {
    name: 'postgres',
    open: () => openPostgres(database.url),
    openBehindProxy: async () => {
      const proxy = await startProxy({ targetPort: portOf(database.url) })
      return { proxy, bell: openPostgres(through(database.url, proxy.port)) }
    },
    flush: () => dropBellSchema(database.db),
  },
]

const ring = (over: Partial<Ring> = {}): Ring => ({
  id: randomUUID(),
  kind: 'self-test',
  generation: 1,
  publish: 1,
  urgent: false,
  ...over,
})

/** Listens, and keeps what was heard; `hold` keeps the first bell in hand until it is called. */
const hear = async (bell: Bell, kind: string, options: { slots?: number; hold?: boolean } = {}) => {
  const heard: HeardBell[] = []
  let letGo = () => {}
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const listener = await bell.listen(kind, options.slots ?? 1, async (one) => {
    heard.push(one)
    if (options.hold) await held
  })
  return { heard, listener, letGo }
}

describe.each(stores)('the bell on $name', (store) => {
  let bell: Bell
  beforeAll(async () => {
    bell = store.open()
    await bell.prepare()
  })
  afterAll(() => bell.close())

  /** Kinds are queues: every test listens to another, so that none hears what belongs to another. */
  const listen = async (kind: string, options = {}) => {
    const all = await hear(bell, kind, options)
    atEnd(() => all.listener.abandon())
    return all
  }

  test('is named after its store, answers to a check and shows one queue for each kind', async () => {
    expect(bell.store).toBe(store.name)
    await bell.check()
    const names = bell.queues().map((queue) => queue.name)
    expect(names).toContain('self-test')
    expect(new Set(names).size).toBe(names.length)
  })

  test('can be prepared again, and by two at once', async () => {
    const others = [store.open(), store.open()]
    await Promise.all(others.map((other) => other.prepare()))
    await bell.prepare()
    for (const other of others) await other.close()
  })

  test('is heard exactly: the id and the generation, and nothing else', async () => {
    const { heard } = await listen('sync-source', { slots: 5 })
    const rings = [1, 2, 3].map((generation) => ring({ kind: 'sync-source', generation }))
    await bell.ring(rings)
    await until(() => heard.length === 3, { what: 'three bells' })
    const expected = rings.map(({ id, generation }) => ({ id, generation }))
    expect([...heard].sort((a, b) => a.generation - b.generation)).toEqual(expected)
  })

  test('rung twice under one id is one bell; under the next publish it is another', async () => {
    const kind = 'place-instance'
    const one = ring({ kind })
    await bell.ring([one])
    await bell.ring([one])
    await bell.ring([one, { ...one, publish: 2 }])
    expect([...(await bell.pending(kind))].sort()).toEqual([bellId(one), bellId({ ...one, publish: 2 })])
    const { heard } = await listen(kind)
    const last = ring({ kind })
    await bell.ring([last])
    await until(() => heard.some(({ id }) => id === last.id), { what: 'the last bell' })
    expect(heard.filter(({ id }) => id === one.id)).toHaveLength(2)
    expect((await bell.pending(kind)).size).toBe(0)
  })

  test('an urgent bell is taken before those that stand in line, the most urgent first', async () => {
    const kind = 'plan-batch'
    const normal = [ring({ kind }), ring({ kind })]
    const urgent = [ring({ kind, urgent: true }), ring({ kind, urgent: true })]
    await bell.ring(normal)
    await bell.ring(urgent)
    const { heard } = await listen(kind)
    await until(() => heard.length === 4, { what: 'four bells' })
    const order = heard.map(({ id }) => [...urgent, ...normal].findIndex((one) => one.id === id))
    expect(order).toEqual([0, 1, 2, 3])
  })

  test('a quiet listener asks for no more bells, and close waits for the one in its hand', async () => {
    const kind = 'sync-target'
    const { heard, listener, letGo } = await listen(kind, { slots: 2, hold: true })
    await bell.ring([ring({ kind })])
    await until(() => heard.length === 1, { what: 'the first bell' })
    await listener.quiet()
    const later = Array.from({ length: 5 }, () => ring({ kind }))
    await bell.ring(later)
    const closed = listener.close()
    letGo()
    await settles(closed, { what: 'the listener to close', withinMs: 20_000 })
    // A listener that was asking at that moment gets one answer; nobody is asked again.
    expect(heard.length).toBeLessThanOrEqual(2)
    expect((await bell.pending(kind)).size).toBe(6 - heard.length)
  })

  test('abandon returns at once, although a bell is in hand', async () => {
    const kind = 'final-verify'
    const { heard, listener, letGo } = await listen(kind, { hold: true })
    await bell.ring([ring({ kind })])
    await until(() => heard.length === 1, { what: 'the bell' })
    await settles(listener.abandon(), { what: 'the listener to be abandoned', withinMs: 20_000 })
    letGo()
  })

  test('closes although listeners were abandoned in the middle of connecting', async () => {
    const own = store.open()
    await own.prepare()
    const listeners = await Promise.all(
      Array.from({ length: 6 }, () => own.listen('final-verify', 1, () => Promise.resolve())),
    )
    await Promise.all(listeners.map((listener) => listener.abandon()))
    await settles(own.close(), { what: 'the bell to close', withinMs: 20_000 })
  })

  test('more slots while it listens let it take more at once', async () => {
    const kind = 'final-verify'
    const { heard, listener, letGo } = await listen(kind, { slots: 1, hold: true })
    await bell.ring([ring({ kind }), ring({ kind }), ring({ kind })])
    await until(() => heard.length === 1, { what: 'one bell for one slot' })
    listener.setSlots(3)
    // BullMQ looks at its slots when something happens: the next ring does.
    await bell.ring([ring({ kind })])
    letGo()
    await until(() => heard.length === 4, { what: 'all bells' })
  })

  test('rings of several kinds go to the queue of each', async () => {
    const rings = [ring({ kind: 'settle-debt' }), ring({ kind: 'self-test' })]
    await bell.ring(rings)
    for (const one of rings) expect([...(await bell.pending(one.kind))]).toContain(bellId(one))
  })

  test('fails fast while the store is away, says so, and works again when it is back', async () => {
    const { bell: far, proxy } = await store.openBehindProxy()
    atEnd(() => far.close())
    await until(() => far.check().then(() => true), { what: 'the way through the proxy', withinMs: 20_000 })
    await far.identity()
    proxy.cut()
    for (const call of [
      () => far.check(),
      () => far.ring([ring()]),
      () => far.identity(),
      () => far.pending('self-test'),
    ]) {
      const error = await settles(
        call().then(
          () => undefined,
          (thrown: unknown) => thrown,
        ),
        {
          what: 'an answer while the store is away',
          withinMs: 15_000,
        },
      )
      expect(error).toBeInstanceOf(DroverError)
      expect(error).toMatchObject({ code: 'bell-away', class: 'environment' })
    }
    proxy.heal()
    await until(() => far.ring([ring()]).then(() => true), { what: 'the store to be back', withinMs: 30_000 })
  })

  test('keeps its identity for as long as it keeps its bells, and gets another one when it loses them', async () => {
    const before = await bell.identity()
    const other = store.open()
    await other.prepare()
    expect([await other.identity(), await bell.identity()]).toEqual([before, before])
    await other.close()
    await bell.ring([ring()])
    await store.flush()
    const after = await bell.identity()
    expect(after).not.toBe(before)
    expect(await bell.identity()).toBe(after)
    expect((await bell.pending('self-test')).size).toBe(0)
    const kept = ring()
    await bell.ring([kept])
    expect([...(await bell.pending('self-test'))]).toEqual([bellId(kept)])
  })
})

describe('the bell on redis is refused or warned about', () => {
  const prepare = async (options: Parameters<typeof startRedis>[0]) => {
    const server = await startRedis(options)
    const lines: string[] = []
    const log = createLog({
      role: 'test',
      level: 'warn',
      destination: { write: (line) => void lines.push(line) },
    })
    const bell = new RedisBell({ url: server.url, log })
    atEnd(() => bell.close())
    const outcome = await bell.prepare().then(
      () => 'ready' as const,
      (thrown: unknown) => thrown,
    )
    return { outcome, warnings: lines.filter((line) => line.includes('keeps nothing on disk')) }
  }

  test('when it may evict keys, and the message says which setting to change', async () => {
    const { outcome } = await prepare({ policy: 'allkeys-lru' })
    expect(outcome).toMatchObject({ code: 'redis-evicts', class: 'config', field: 'REDIS_URL' })
    expect((outcome as DroverError).remedy).toContain('maxmemory-policy noeviction')
  })

  test('when it keeps nothing on disk: a warning; with an append-only file none', async () => {
    expect(await prepare({ persistence: 'none' })).toMatchObject({
      outcome: 'ready',
      warnings: [expect.any(String)],
    })
    expect(await prepare({ persistence: 'aof' })).toEqual({ outcome: 'ready', warnings: [] })
  })
})

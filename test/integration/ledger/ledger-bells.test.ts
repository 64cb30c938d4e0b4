import { describe, expect, test } from 'vitest'
import { markRung } from '../../../db/queries/bell/mark-rung.ts'
import { writeSetting } from '../../../db/queries/fleet/settings.ts'
import { beatWorker, loseSilentWorkers } from '../../../db/queries/fleet/workers.ts'
import { systemClock } from '../../../src/clock.ts'
import { readConfig } from '../../../src/config/config.ts'
import { type Bell, type HeardBell, openBell } from '../../../src/ledger/bell/bell.ts'
import { listenerOptions } from '../../../src/ledger/bell/bell-queue.ts'
import { createPromoter, Relay } from '../../../src/ledger/bell/relay.ts'
import { Conductor } from '../../../src/ledger/conductor/conductor.ts'
import { done } from '../../../src/ledger/job.ts'
import { nudge } from '../../../src/ledger/jobs/nudge.ts'
import { pauseWork, resumeWork } from '../../../src/ledger/jobs/pause.ts'
import { Listeners } from '../../../workers/listeners.ts'
import { onEachBell, type TestBell } from '../../support/bells.ts'
import { atEnd } from '../../support/cleanup.ts'
import { quietLog } from '../../support/events.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { add, addOne, createWorker, jobOf, type Run, stateOf } from '../../support/ledger.ts'
import { requestCancel } from '../../support/ledger-verbs.ts'
import { createDatabase } from '../../support/postgres.ts'
import { settles, until } from '../../support/wait.ts'

const clock = systemClock
const log = quietLog
/** No lease ends here: one process is the whole fleet, and may stand still for a moment. */
const leaseMs = 20_000

/** A fleet inside this process: a conductor, and workers with a bell of their own. */
const startFleet = async (
  bell: TestBell,
  run: Run,
  options: { slots?: number; workers?: number; conduct?: boolean } = {},
) => {
  const { db, url } = bell.database
  const config = readConfig(bell.env)
  const open = async () => {
    const made = await openBell(config, { databaseUrl: url, log })
    await made.prepare()
    atEnd(() => made.close())
    return made
  }
  const ring = await open()
  const slots = new Map([['self-test', options.slots ?? 4]])
  const workers = []
  for (let at = 0; at < (options.workers ?? 1); at += 1) {
    const worker = createWorker(db, run, { leaseMs })
    const follow = worker.runner.follow.bind(worker.runner)
    const listeners = new Listeners({ db, bell: await open(), slots, clock, log, follow })
    await listeners.listen()
    worker.keeper.start()
    const beat = () =>
      beatWorker(
        db,
        {
          id: worker.id,
          role: 'worker',
          host: 'test',
          pid: process.pid,
          version: '0',
          kinds: { 'self-test': 1 },
          slots: Object.fromEntries(slots),
        },
        'active',
      )
    await beat()
    const beats = setInterval(() => void beat().catch(() => {}), 500)
    const stop = async () => {
      clearInterval(beats)
      await worker.keeper.stop()
      await listeners.stop()
      await db`delete from worker where id = ${worker.id}::uuid`
    }
    atEnd(stop)
    workers.push({ ...worker, listeners, stop })
  }
  const conductor = new Conductor({ db, databaseUrl: url, bell: ring, clock, log, leaseMs })
  atEnd(() => conductor.stop())
  if (options.conduct !== false) conductor.start()
  return { db, ring, workers, conductor }
}

const ended = async (bell: TestBell, ids: readonly string[], withinMs = 40_000): Promise<void> => {
  const { db } = bell.database
  await until(
    async () => {
      const [row] = await db<{ open: number }[]>`
        select count(*)::int as open from job where id = any(${ids as string[]}::uuid[]) and state <> 'succeeded'`
      return row?.open === 0
    },
    { what: `${ids.length} jobs to succeed`, withinMs },
  )
}

await onEachBell('the ledger', (bell) => {
  const { db } = bell.database

  test('runs every job once, on two workers, from the commit to the end', async () => {
    const runs = new Map<string, number>()
    await startFleet(
      bell,
      (ctx) => {
        runs.set(ctx.job.id, (runs.get(ctx.job.id) ?? 0) + 1)
        return Promise.resolve(done())
      },
      { workers: 2 },
    )
    const ids = await add(db, ...Array.from({ length: 300 }, () => ({})))
    nudge(db)
    await ended(bell, ids)
    expect([...runs.values()].every((times) => times === 1)).toBe(true)
    expect(runs.size).toBe(300)
  })

  test('a lane with 10 jobs is not behind a lane with 1,000', async () => {
    const order: string[] = []
    const fleet = await startFleet(
      bell,
      (ctx) => {
        order.push(ctx.job.lane)
        return Promise.resolve(done())
      },
      { slots: 2, conduct: false },
    )
    await add(db, ...Array.from({ length: 1_000 }, () => ({ lane: 'batch/big' })))
    const small = await add(db, ...Array.from({ length: 10 }, () => ({ lane: 'batch/small' })))
    fleet.conductor.start()
    await ended(bell, small)
    const last = order.lastIndexOf('batch/small')
    expect(last).toBeLessThan(300)
    const left = await db<{ id: string }[]>`select id from job where lane = 'batch/big' and state = 'ready'`
    await Promise.all(left.map(({ id }) => requestCancel(db, id, { by: 'test', reason: 'seen enough' })))
    await until(async () => fleet.workers.every((worker) => worker.keeper.size === 0), {
      what: 'the rest to end',
      withinMs: 60_000,
    })
  })

  test('higher priority goes first, also when it comes later', async () => {
    const order: number[] = []
    let letGo = () => {}
    const first = new Promise<void>((resolve) => {
      letGo = resolve
    })
    await startFleet(
      bell,
      async (ctx) => {
        const [row] = await db<
          { priority: number }[]
        >`select priority from job where id = ${ctx.job.id}::uuid`
        order.push(row?.priority ?? 0)
        if (order.length === 1) await first
        return done()
      },
      { slots: 1 },
    )
    const ids = await add(db, ...Array.from({ length: 20 }, () => ({ priority: -5 })))
    nudge(db)
    await until(() => order.length === 1, { what: 'the first job to run', withinMs: 30_000 })
    ids.push(await addOne(db, { priority: 50 }))
    nudge(db)
    await until(
      async () => (await db`select 1 from job where priority = 50 and bell = 'rung'`).length === 1,
      {
        what: 'the urgent bell to be out',
        withinMs: 30_000,
      },
    )
    letGo()
    await ended(bell, ids)
    expect(order[1]).toBe(50)
  })

  test('bells of a paused lane go back, and ring again after the resume', async () => {
    const fleet = await startFleet(bell, () => Promise.resolve(done()), { conduct: false })
    const relay = new Relay({ db, bell: fleet.ring, clock, log, silentMs: leaseMs })
    await Promise.all(fleet.workers.map((worker) => worker.listeners.quiet()))
    const pause = { scope: 'lane', name: 'paused', by: 'test' } as const
    await pauseWork(db, { ...pause, reason: 'test' })
    const id = await addOne(db, { lane: 'paused' })
    await db`update job set bell = 'rung', publish = publish + 1, published_at = now() where id = ${id}::uuid`
    const [worker] = fleet.workers
    await worker?.follow(id)
    expect(await jobOf(db, id)).toMatchObject({ state: 'ready', bell: 'due', leaseEpoch: 0 })
    await relay.runOnce()
    expect((await jobOf(db, id)).bell).toBe('due')
    expect(await resumeWork(db, pause)).toBe(true)
    // One that was on its way to a worker when that went quiet is given back, and rung again.
    const rings = async () => {
      await relay.runOnce()
      return (await jobOf(db, id)).bell === 'rung'
    }
    await until(rings, { what: 'its bell to ring again' })
    await worker?.follow(id)
    expect(await stateOf(db, id)).toBe('succeeded')
  })

  test('a paused kind starts nothing, and what runs goes on', async () => {
    let letGo = () => {}
    const running = new Promise<void>((resolve) => {
      letGo = resolve
    })
    await startFleet(bell, () => running.then(() => done()))
    const first = await addOne(db)
    nudge(db)
    await until(async () => (await stateOf(db, first)) === 'running', {
      what: 'the first job',
      withinMs: 30_000,
    })
    await pauseWork(db, { scope: 'kind', name: 'self-test', by: 'test', reason: 'test' })
    const second = await addOne(db)
    nudge(db)
    letGo()
    await ended(bell, [first])
    expect(await stateOf(db, second)).toBe('ready')
    await resumeWork(db, { scope: 'kind', name: 'self-test', by: 'test' })
    await ended(bell, [second])
  })

  test('a worker that goes quiet hands back a bell that was on its way, and never follows it', async () => {
    const fleet = await startFleet(bell, () => Promise.resolve(done()), { conduct: false, workers: 0 })
    const followed: string[] = []
    let late: (heard: HeardBell) => Promise<void> = () => Promise.reject(new Error('Nobody listens.'))
    // The real bell; only what it calls is kept, to call it at the worst moment.
    const watched: Bell = Object.assign(Object.create(fleet.ring) as Bell, {
      listen: (kind: string, slots: number, onBell: (heard: HeardBell) => Promise<void>) => {
        late = onBell
        return fleet.ring.listen(kind, slots, onBell)
      },
    })
    const follow = async (_kind: string, heard: HeardBell) => void followed.push(heard.id)
    const listeners = new Listeners({
      db,
      bell: watched,
      slots: new Map([['self-test', 1]]),
      clock,
      log,
      follow,
    })
    await listeners.listen()
    atEnd(() => listeners.stop())
    await listeners.quiet()
    const id = await addOne(db)
    const before = await jobOf(db, id)
    await markRung(db, [{ id, publish: before.publish }])
    await late({ id, generation: 1 })
    expect(followed).toEqual([])
    expect(await jobOf(db, id)).toMatchObject({ state: 'ready', bell: 'due', publish: before.publish + 2 })
    await requestCancel(db, id, { by: 'test', reason: 'done' })
  })

  test('a held job is due when its time comes, and not before', async () => {
    await startFleet(bell, (ctx) => Promise.resolve(done({ at: ctx.job.leaseEpoch })))
    const id = await addOne(db, { runAfterMs: 400 })
    nudge(db)
    await ended(bell, [id])
    const job = await jobOf(db, id)
    expect(job.claimedAt?.getTime()).toBeGreaterThanOrEqual(job.runAfter.getTime() - 1)
  })

  test('a raised limit starts the waiters while the fleet runs', async () => {
    let letGo = () => {}
    const holding = new Promise<void>((resolve) => {
      letGo = resolve
    })
    await startFleet(bell, () => holding.then(() => done()), { slots: 8 })
    await db`insert into admission_limit (name, capacity, updated_by) values ('link/live', 1, 'test')`
    const ids = await add(db, ...Array.from({ length: 3 }, () => ({ tokens: ['link/live'] })))
    nudge(db)
    const running = async (count: number) => {
      const rows = await db`select 1 from job where id = any(${ids}::uuid[]) and state = 'running'`
      return rows.length === count
    }
    await until(() => running(1), { what: 'one holder', withinMs: 30_000 })
    await db`update admission_limit set capacity = 3 where name = 'link/live'`
    await until(() => running(3), { what: 'all three to run', withinMs: 30_000 })
    letGo()
    await ended(bell, ids)
  })

  test('the whole ledger obeys its laws', async () => {
    expect(await checkInvariants(db)).toEqual([])
  })
})

await onEachBell('the relay', (bell) => {
  const { db } = bell.database

  test('keeps as many bells out as a person allows, from the next look on', async () => {
    const fleet = await startFleet(bell, () => Promise.resolve(done()), { conduct: false, slots: 50 })
    await Promise.all(fleet.workers.map((worker) => worker.listeners.quiet()))
    await db.begin((tx) => writeSetting(tx, { name: 'relay-window', value: 7, by: 'test', version: 0 }))
    await add(db, ...Array.from({ length: 60 }, () => ({})))
    const relay = new Relay({ db, bell: fleet.ring, clock, log, silentMs: leaseMs })
    const look = async () => {
      await relay.runOnce()
      const { length } = await db`select 1 from job where bell = 'rung'`
      expect(length).toBeLessThanOrEqual(7)
      return length
    }
    // A bell that was on its way to a worker when that went quiet is given back, and rung again: until then a look
    // may find six.
    await until(async () => (await look()) === 7 && (await look()) === 7, { what: 'seven bells to stay out' })
  })

  test('rings for nobody when no worker lives, and the silent are counted as lost', async () => {
    const fleet = await startFleet(bell, () => Promise.resolve(done()), { conduct: false })
    const [worker] = fleet.workers
    await worker?.stop()
    const registration = {
      id: worker?.id ?? '',
      role: 'worker',
      host: 'test',
      pid: 1,
      version: '0',
      kinds: {},
      slots: { 'self-test': 4 },
    }
    await beatWorker(db, registration, 'active')
    await db`update worker set heartbeat_at = now() - interval '1 hour'`
    const id = await addOne(db, { priority: 99 })
    const relay = new Relay({ db, bell: fleet.ring, clock, log, silentMs: leaseMs })
    await relay.runOnce()
    expect((await jobOf(db, id)).bell).toBe('due')
    expect(await loseSilentWorkers(db, leaseMs)).toEqual([registration.id])
    expect(await loseSilentWorkers(db, leaseMs)).toEqual([])
    await beatWorker(db, registration, 'active')
    const [row] = await db`select state, stopped_at from worker where id = ${registration.id}::uuid`
    expect(row).toEqual({ state: 'active', stoppedAt: null })
  })
})

test('on Postgres no listener sleeps longer than one that is idle, whatever has become of its connection', async () => {
  const { url } = await createDatabase()
  const bell = await openBell(readConfig({}), { databaseUrl: url, log })
  atEnd(() => bell.close())
  const seconds = bell.queues().map((queue) => {
    const { backend } = queue as unknown as { backend: { maximumBlockTimeout: number } }
    return backend.maximumBlockTimeout
  })
  expect(seconds.length).toBeGreaterThan(0)
  expect(new Set(seconds)).toEqual(new Set([listenerOptions.drainDelay]))
})

describe('the promoter', () => {
  test('says when the next held job comes, and then makes it due', async () => {
    const { createDatabase } = await import('../../support/postgres.ts')
    const { promoteHeldJobs } = await import('../../../db/queries/tokens/promote-held-jobs.ts')
    const { db, url } = await createDatabase()
    expect(await promoteHeldJobs(db, 10)).toEqual({ promoted: 0, nextMs: null })
    const ids = await add(db, { runAfterMs: 3_600_000 }, { runAfterMs: 1_800_000 })
    const { promoted, nextMs } = await promoteHeldJobs(db, 10)
    expect(promoted).toBe(0)
    expect(nextMs).toBeGreaterThan(1_500_000)
    expect(nextMs).toBeLessThanOrEqual(1_800_001)
    const bell = await openBell({ redisUrl: undefined }, { databaseUrl: url, log })
    let wake = () => {}
    const due = new Promise<void>((resolve) => {
      wake = resolve
    })
    const promoter = createPromoter({ db, bell, clock, log, silentMs: leaseMs, onDue: () => wake() })
    promoter.start()
    atEnd(() => promoter.stop())
    await db`update job set run_after = now() + interval '150 milliseconds' where id = ${ids[1] ?? ''}::uuid`
    await settles(due, { what: 'the short one to be due', withinMs: 30_000 })
    expect(await Promise.all(ids.map(async (id) => (await jobOf(db, id)).bell))).toEqual(['held', 'due'])
  })
})

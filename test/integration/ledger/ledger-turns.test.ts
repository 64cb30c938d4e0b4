import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { wakeTimedOutWaits } from '../../../db/queries/leases/wake-timed-out-waits.ts'
import { defineKind } from '../../../src/domain/job/kind.ts'
import { selfTest } from '../../../src/domain/job/kinds/self-test.ts'
import { defaultRetryPolicy, type ErrorClass } from '../../../src/domain/job/retry.ts'
import { DroverError } from '../../../src/errors.ts'
import { sweepDeadlines, sweepLeases } from '../../../src/ledger/conductor/sweeps.ts'
import { done, ReleaseRequest, waitFor } from '../../../src/ledger/job.ts'
import { sendSignal, sendSignalNow } from '../../../src/ledger/jobs/signals.ts'
import { sealBroken } from '../../../src/seal/seal.ts'
import { checkInvariants } from '../../support/invariants.ts'
import {
  addOne,
  claim,
  contextOf,
  createWorker,
  end,
  expire,
  jobOf,
  makeDue,
  mustClaim,
  stateOf,
  storyOf,
} from '../../support/ledger.ts'
import { redrive, requestCancel } from '../../support/ledger-verbs.ts'
import { createDatabase } from '../../support/postgres.ts'
import { until } from '../../support/wait.ts'

const { db } = await createDatabase()
const failure = (errorClass: ErrorClass) =>
  new DroverError({ code: 'test-failure', class: errorClass, message: 'It failed.', remedy: 'None.' })
/** Runs a job again and again, as if no time passed, until it has ended. Says how often it ran. */
const runOut = async (id: string, errorClass: ErrorClass): Promise<number> => {
  for (let runs = 1; ; runs += 1) {
    await end(db, await mustClaim(db, id), { type: 'thrown', thrown: failure(errorClass) })
    if ((await stateOf(db, id)) === 'failed') return runs
    await makeDue(db, id)
  }
}
/** How long the job was put off when its last try ended. */
const msPutOff = async (id: string): Promise<number> => {
  const [row] = await db<{ ms: number }[]>`
    select extract(epoch from j.run_after - e.at)::float8 * 1000 as ms from job j join event e on e.job_id = j.id
    where j.id = ${id}::uuid and e.type = 'job.retried' order by e.xid desc, e.id desc limit 1`
  return row?.ms ?? 0
}

describe('retries', () => {
  test.each([
    ['transient', selfTest.retry.transientMax, 'attempt'],
    ['bug', selfTest.retry.bugMax, 'attempt'],
    ['environment', selfTest.retry.environmentMax, 'environmentAttempt'],
  ] as const)(
    'a job that always fails with %s runs %i times, out of the budget %s',
    async (c, runs, budget) => {
      const id = await addOne(db)
      expect(await runOut(id, c)).toBe(runs)
      const job = await jobOf(db, id)
      expect(job[budget]).toBe(runs)
      expect(job.attempt + job.environmentAttempt).toBe(runs)
      expect(job.error).toEqual({ code: 'test-failure', class: c, message: 'It failed.', remedy: 'None.' })
    },
  )

  test.each(['conflict', 'config', 'permanent'] as const)(
    '%s fails at once and charges nothing',
    async (c) => {
      const id = await addOne(db)
      expect(await runOut(id, c)).toBe(1)
      expect(await jobOf(db, id)).toMatchObject({ attempt: 0, environmentAttempt: 0, state: 'failed' })
    },
  )

  test('wait for at least half a step, held until then, and keep the error of the last try', async () => {
    const id = await addOne(db)
    await end(db, await mustClaim(db, id), { type: 'thrown', thrown: failure('environment') })
    const job = await jobOf(db, id)
    expect(job).toMatchObject({ state: 'ready', bell: 'held', leaseUntil: null, environmentAttempt: 1 })
    expect(job.error).toMatchObject({ class: 'environment' })
    const ms = await msPutOff(id)
    // Both moments are rounded to the millisecond.
    expect(ms).toBeGreaterThanOrEqual(defaultRetryPolicy.environmentBaseMs / 2 - 1)
    expect(ms).toBeLessThanOrEqual(defaultRetryPolicy.environmentBaseMs + 1)
    expect(await claim(db, id)).toBeUndefined()
    await makeDue(db, id)
    await end(db, await mustClaim(db, id), done({ fine: true }))
    expect(await jobOf(db, id)).toMatchObject({ state: 'succeeded', error: null, result: { fine: true } })
  })

  test('a release charges nothing, however often, and is due at once', async () => {
    const id = await addOne(db)
    for (let times = 0; times < 20; times += 1) {
      const ctx = contextOf(db, await mustClaim(db, id))
      ctx.drain()
      await expect(ctx.checkpoint({ times })).rejects.toThrow(ReleaseRequest)
      await end(db, ctx.job, {
        type: 'thrown',
        thrown: new ReleaseRequest({ reason: 'worker-drains', detail: 'It drains.' }),
      })
    }
    expect(await jobOf(db, id)).toMatchObject({
      state: 'ready',
      bell: 'due',
      attempt: 0,
      environmentAttempt: 0,
      lost: 0,
    })
    expect((await mustClaim(db, id)).checkpoint).toEqual({ times: 19 })
  })

  test('a worker that goes away because it lacks a key breaks nothing off: who has the key judges what does not open', async () => {
    const id = await addOne(db)
    const leaving = contextOf(db, await mustClaim(db, id))
    leaving.drain()
    await end(db, leaving.job, { type: 'thrown', thrown: sealBroken('test') }, { ctx: leaving })
    expect(await jobOf(db, id)).toMatchObject({ state: 'ready', attempt: 0, environmentAttempt: 0 })
    await end(db, await mustClaim(db, id), { type: 'thrown', thrown: sealBroken('test') })
    expect(await jobOf(db, id)).toMatchObject({ state: 'failed', error: { code: 'seal-broken' } })
  })

  test('a job under which too many workers vanish is itself the suspect and fails', async () => {
    const id = await addOne(db)
    for (let lost = 1; lost <= defaultRetryPolicy.lostMax; lost += 1) {
      expect(await stateOf(db, id)).toBe('ready')
      await mustClaim(db, id)
      await expire(db, id)
      await sweepLeases(db)
    }
    expect(await jobOf(db, id)).toMatchObject({ state: 'failed', error: { code: 'worker-lost' } })
  })

  test('a job that gets further between the losses is not the suspect', async () => {
    const id = await addOne(db)
    for (let lost = 1; lost <= defaultRetryPolicy.lostMax + 2; lost += 1) {
      await contextOf(db, await mustClaim(db, id)).checkpoint({ block: lost })
      await expire(db, id)
      await sweepLeases(db)
    }
    expect(await jobOf(db, id)).toMatchObject({ state: 'ready', lost: 1 })
  })

  test('a job that comes to the same place before each loss stays the suspect', async () => {
    const id = await addOne(db)
    for (let lost = 1; lost <= defaultRetryPolicy.lostMax; lost += 1) {
      await contextOf(db, await mustClaim(db, id)).checkpoint({ block: 7 })
      await expire(db, id)
      await sweepLeases(db)
    }
    expect(await stateOf(db, id)).toBe('failed')
  })
})

describe('waits', () => {
  const wait = (signal?: string) =>
    waitFor({ reason: 'guest', detail: 'waits for a guest', forMs: 3_600_000, ...(signal ? { signal } : {}) })

  test('have a reason, a since, an end and a signal, and the signal ends all waits of its name', async () => {
    const ids = [await addOne(db), await addOne(db), await addOne(db)]
    for (const [at, id] of ids.entries())
      await end(db, await mustClaim(db, id), wait(at === 2 ? 'other/one' : 'this/one'))
    const job = await jobOf(db, ids[0] ?? '')
    expect(job).toMatchObject({ state: 'waiting', waitReason: 'guest', waitDetail: 'waits for a guest' })
    expect((job.waitUntil?.getTime() ?? 0) - (job.waitSince?.getTime() ?? 0)).toBe(3_600_000)
    expect(await sendSignalNow(db, 'this/one', 'test')).toBe(2)
    expect(await Promise.all(ids.map((id) => stateOf(db, id)))).toEqual(['ready', 'ready', 'waiting'])
    expect(await sendSignalNow(db, 'this/one', 'test')).toBe(0)
    expect(await storyOf(db, ids[0] ?? '')).toEqual([
      'job.created >ready',
      'job.running ready>running',
      'job.waiting running>waiting',
      'job.woken waiting>ready',
    ])
  })

  // promise: wait-ends
  test('a signal between the decision to wait and its commit is not lost', async () => {
    const id = await addOne(db)
    const job = await mustClaim(db, id)
    await sendSignalNow(db, 'between', 'test')
    await end(db, job, wait('between'))
    expect(await jobOf(db, id)).toMatchObject({
      state: 'ready',
      bell: 'due',
      waitReason: null,
      waitUntil: null,
    })
    await end(db, await mustClaim(db, id), wait('between'))
    expect(await stateOf(db, id)).toBe('waiting')
  })

  test('a signal that was sent before the claim but committed after it is not lost', async () => {
    const id = await addOne(db)
    let job: Awaited<ReturnType<typeof mustClaim>> | undefined
    await db.begin(async (tx) => {
      await sendSignal(tx, 'late', 'test')
      job = await mustClaim(db, id)
    })
    if (!job) throw new Error('The job was not claimed.')
    await end(db, job, wait('late'))
    expect(await stateOf(db, id)).toBe('ready')
    await end(db, await mustClaim(db, id), wait('late'))
    expect(await stateOf(db, id)).toBe('waiting')
  })

  test('a signal whose transaction is still open orders itself before a wait or after it', async () => {
    const id = await addOne(db)
    const job = await mustClaim(db, id)
    let waiting: Promise<string> | undefined
    const isAtTheLock = async () =>
      (
        await db`select from pg_locks l join pg_database d on d.oid = l.database
        where d.datname = current_database() and l.locktype = 'advisory' and not l.granted`
      ).length > 0
    await db.begin(async (tx) => {
      await sendSignal(tx, 'open', 'test')
      waiting = end(db, job, wait('open'))
      await until(async () => (await isAtTheLock()) || (await stateOf(db, id)) !== 'running', {
        what: 'the wait meets the signal',
      })
    })
    await waiting
    expect(await stateOf(db, id)).toBe('ready')
  })

  // promise: wait-ends
  test('a wait ends by itself when its time is over, with an event that says so', async () => {
    const id = await addOne(db)
    await end(db, await mustClaim(db, id), wait('never'))
    expect(await wakeTimedOutWaits(db, 100)).toBe(0)
    await db`update job set wait_until = now() - interval '1 second' where id = ${id}::uuid`
    expect(await wakeTimedOutWaits(db, 100)).toBe(1)
    const [event] =
      await db`select reason, detail from event where job_id = ${id}::uuid and type = 'job.woken'`
    expect(event).toEqual({ reason: 'wait-deadline', detail: { waited_for: 'guest' } })
  })

  test('a cancel that comes while the handler decides to wait is carried out next', async () => {
    const id = await addOne(db)
    const job = await mustClaim(db, id)
    await requestCancel(db, id, { by: 'test', reason: 'no more' })
    await end(db, job, wait('forever'))
    expect(await jobOf(db, id)).toMatchObject({ state: 'ready', bell: 'due' })
    const next = await mustClaim(db, id)
    expect(next.cancelRequested).toBe(true)
    await end(db, next, { type: 'canceled' })
    expect(await jobOf(db, id)).toMatchObject({ state: 'canceled', cancelReason: 'no more' })
  })

  test('a cancel that comes before the handler fails is carried out at once, and the failure is none', async () => {
    for (const kind of ['environment', 'permanent'] as const) {
      const id = await addOne(db)
      const job = await mustClaim(db, id)
      await requestCancel(db, id, { by: 'test', reason: 'no more' })
      await end(db, job, { type: 'thrown', thrown: failure(kind) })
      expect(await jobOf(db, id)).toMatchObject({ state: 'canceled', cancelReason: 'no more', error: null })
    }
  })
})

describe('a change of the domain', () => {
  test('commits with the outcome, or not at all', async () => {
    const id = await addOne(db)
    const write = (name: string) =>
      done({}, { change: (tx) => tx`insert into ledger_fact (name, value) values (${name}, 'x')`.then() })
    const job = await mustClaim(db, id)
    await expire(db, id)
    await sweepLeases(db)
    await expect(end(db, job, write('fenced'))).rejects.toThrow('no longer held')
    const failing = done(
      {},
      {
        change: async (tx) => {
          await tx`insert into ledger_fact (name, value) values ('half', 'x')`
          throw new Error('the second write failed')
        },
      },
    )
    const next = await mustClaim(db, id)
    await expect(end(db, next, failing)).rejects.toThrow('the second write failed')
    expect(await stateOf(db, id)).toBe('running')
    await end(db, next, write('whole'))
    const facts = await db`select name from ledger_fact where name in ('fenced', 'half', 'whole')`
    expect(facts.map((row) => row.name)).toEqual(['whole'])
  })
})

describe('a deadline', () => {
  const overdue = async (id: string) =>
    db`update job set deadline = now() - interval '1 second' where id = ${id}::uuid`

  test('fails a job that is ready, waits or runs, and fences the run', async () => {
    const [ready, waiting, running] = [await addOne(db), await addOne(db), await addOne(db)]
    await end(db, await mustClaim(db, waiting), waitFor({ reason: 'r', detail: 'd', forMs: 3_600_000 }))
    const job = await mustClaim(db, running)
    for (const id of [ready, waiting, running]) await overdue(id)
    expect(await sweepDeadlines(db, 0)).toBe(3)
    for (const id of [ready, waiting, running])
      expect(await jobOf(db, id)).toMatchObject({ state: 'failed', error: { code: 'deadline-passed' } })
    await expect(end(db, job, done())).rejects.toThrow('no longer held')
    expect(await redrive(db, waiting, { by: 'test' })).toEqual({ outcome: 'ready', generation: 2 })
    expect(await jobOf(db, waiting)).toMatchObject({
      deadline: null,
      waitReason: null,
      waitSince: null,
      waitUntil: null,
    })
  })

  test('of a job that has ended changes nothing', async () => {
    const id = await addOne(db, { deadline: new Date(Date.now() + 3_600_000) })
    await end(db, await mustClaim(db, id), done())
    await overdue(id)
    expect(await sweepDeadlines(db, 0)).toBe(0)
    expect(await stateOf(db, id)).toBe('succeeded')
  })
})

describe('a redrive', () => {
  test('is for failed and cancelled jobs only, begins a generation with budgets afresh, keeps the checkpoint', async () => {
    const id = await addOne(db, { tokens: ['link/redrive'] })
    expect(await redrive(db, id, { by: 'test' })).toEqual({ outcome: 'not-ended' })
    const ctx = contextOf(db, await mustClaim(db, id))
    await ctx.checkpoint({ at: 7 })
    await end(db, ctx.job, { type: 'thrown', thrown: failure('permanent') })
    expect(await redrive(db, id, { by: 'test' })).toEqual({ outcome: 'ready', generation: 2 })
    expect(await jobOf(db, id)).toMatchObject({
      attempt: 0,
      error: null,
      finishedAt: null,
      checkpoint: { at: 7 },
    })
    expect(await claim(db, id, { generation: 1 })).toBeUndefined()
    const again = await mustClaim(db, id, { generation: 2 })
    expect(again.leaseEpoch).toBe(2)
    await end(db, again, done())
    expect(await redrive(db, id, { by: 'test' })).toEqual({ outcome: 'succeeded' })
    const nobody = '0198c0de-0000-7000-8000-000000000000'
    expect(await redrive(db, nobody, { by: 'test' })).toEqual({ outcome: 'not-found' })
  })

  test('is heard although the relay marks the bell of the generation before too late', async () => {
    const { markRung } = await import('../../../db/queries/bell/mark-rung.ts')
    const id = await addOne(db)
    const seen = await jobOf(db, id)
    await requestCancel(db, id, { by: 'test', reason: 'r' })
    await redrive(db, id, { by: 'test' })
    await markRung(db, [{ id, publish: seen.publish }])
    expect((await jobOf(db, id)).bell).toBe('due')
  })
})

describe('a worker', () => {
  test('runs a job to its end by one bell, and a second bell changes nothing', async () => {
    const id = await addOne(db)
    const worker = createWorker(db, (ctx) => Promise.resolve(done({ epoch: ctx.job.leaseEpoch })))
    await Promise.all([worker.follow(id), worker.follow(id)])
    await worker.follow(id)
    expect(await jobOf(db, id)).toMatchObject({ state: 'succeeded', result: { epoch: 1 }, leaseEpoch: 1 })
    expect(worker.keeper.size).toBe(0)
  })

  test('gives a running handler its cancel by the abort of its signal', async () => {
    const id = await addOne(db)
    const worker = createWorker(db, async (ctx) => {
      await requestCancel(db, id, { by: 'someone', reason: 'enough' })
      await worker.keeper.pollCancels()
      ctx.signal.throwIfAborted()
      return done()
    })
    await worker.follow(id)
    expect(await jobOf(db, id)).toMatchObject({
      state: 'canceled',
      cancelRequestedBy: 'someone',
      cancelReason: 'enough',
    })
  })

  test('lifts an older payload, and fails one that it cannot read for good', async () => {
    const kind = defineKind({
      kind: 'self-test',
      title: 'The next version',
      version: 2,
      payload: z.strictObject({ rounds: z.int() }),
      upgrades: { 1: (older) => ({ rounds: (older as { steps: unknown }).steps }) },
    })
    const [good, bad] = [await addOne(db, { payload: { steps: 3 } }), await addOne(db)]
    await db`update job set payload = '{"steps": "many"}'::jsonb where id = ${bad}::uuid`
    const worker = createWorker(db, (ctx) => Promise.resolve(done({ payload: ctx.payload })), { kind })
    await worker.follow(good)
    await worker.follow(bad)
    expect(await jobOf(db, good)).toMatchObject({ payloadVersion: 1, result: { payload: { rounds: 3 } } })
    expect(await jobOf(db, bad)).toMatchObject({ state: 'failed', error: { code: 'payload-unreadable' } })
  })
})

test('after turns of every kind the whole ledger obeys its laws', async () => {
  expect(await checkInvariants(db)).toEqual([])
})

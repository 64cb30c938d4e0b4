import { describe, expect, test } from 'vitest'
import { type Db, openDb } from '../../../db/client.ts'
import { DroverError, FencedError } from '../../../src/errors.ts'
import { sweepLeases } from '../../../src/ledger/conductor/sweeps.ts'
import { performEffect } from '../../../src/ledger/effects.ts'
import { done } from '../../../src/ledger/job.ts'
import { claimGroup } from '../../../src/ledger/jobs/claim.ts'
import { enqueue, type NewJob } from '../../../src/ledger/jobs/enqueue.ts'
import { finishGroup } from '../../../src/ledger/jobs/settle.ts'
import { atEnd } from '../../support/cleanup.ts'
import {
  add,
  addOne,
  claim,
  contextOf,
  createWorker,
  effectsOf,
  end,
  expire,
  jobOf,
  makeDue,
  mustClaim,
  stateOf,
  storyOf,
} from '../../support/ledger.ts'
import { createDatabase } from '../../support/postgres.ts'

const database = await createDatabase()
const { db } = database
const self = (job: Partial<NewJob>): NewJob => ({
  kind: 'self-test',
  payload: {},
  subject: { type: 'test', id: 'one' },
  createdBy: 'test',
  ...job,
})
const refusal = async (work: Promise<unknown>): Promise<DroverError> => {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof DroverError)) throw new Error(`No refusal, but ${String(error)}.`)
  return error
}

describe('enqueue', () => {
  // promise: change-and-job
  test("belongs to the caller's transaction: a rollback leaves neither job nor event", async () => {
    let id = ''
    const boom = new Error('the caller thinks better of it')
    await expect(
      db.begin(async (tx) => {
        const [job] = await enqueue(tx, [self({})])
        id = job?.id ?? ''
        throw boom
      }),
    ).rejects.toBe(boom)
    expect(await db`select 1 from job where id = ${id}::uuid`).toHaveLength(0)
    expect(await db`select 1 from event where job_id = ${id}::uuid`).toHaveLength(0)
  })

  // promise: idempotency-key
  test('the same key and payload give the same job, in one call, in two, and twenty times at once', async () => {
    const again = () =>
      db.begin((tx) => enqueue(tx, [self({ idempotencyKey: 'same', payload: { steps: 2 } })]))
    const answers = (await Promise.all(Array.from({ length: 20 }, again))).flat()
    expect(new Set(answers.map((job) => job.id)).size).toBe(1)
    expect(answers.filter((job) => !job.existing)).toHaveLength(1)
    const twice = await db.begin((tx) =>
      enqueue(tx, [self({ idempotencyKey: 'twins' }), self({ idempotencyKey: 'twins' })]),
    )
    expect(twice[0]?.id).toBe(twice[1]?.id)
    expect(await storyOf(db, answers[0]?.id ?? '')).toEqual(['job.created >ready'])
  })

  test('the same key with another payload or kind is a conflict that names the first job', async () => {
    const id = await addOne(db, { idempotencyKey: 'taken', payload: { steps: 1 } })
    const error = await refusal(addOne(db, { idempotencyKey: 'taken', payload: { steps: 3 } }))
    expect(error).toMatchObject({ code: 'idempotency-mismatch', class: 'conflict', detail: { job_id: id } })
    const other = { kind: 'settle-debt', payload: { effect_id: id }, idempotencyKey: 'taken' }
    expect(await refusal(addOne(db, other))).toMatchObject({ code: 'idempotency-mismatch' })
  })

  test('keys in opposite orders wait for each other and never in a ring', async () => {
    const keys = Array.from({ length: 40 }, (_, at) => `ring-${at}`)
    const jobs = keys.map((idempotencyKey) => self({ idempotencyKey }))
    const [one, two] = await Promise.all([
      db.begin((tx) => enqueue(tx, jobs)),
      db.begin((tx) => enqueue(tx, [...jobs].reverse())),
    ])
    expect(two.map((job) => job.id).reverse()).toEqual(one.map((job) => job.id))
  })

  test.each([
    [{ kind: 'nonsense' }, 'kind-unknown', 'kind'],
    [{ payload: { steps: -1 } }, 'payload-invalid', 'payload.steps'],
    [{ payload: { stray: 1 } }, 'payload-invalid', 'payload'],
    [{ priority: 101 }, 'priority-invalid', 'priority'],
    [{ payload: { note: 'x'.repeat(70_000) } }, 'payload-too-large', 'payload'],
    [{ tokens: ['nonsense/x'] }, 'token-invalid', 'tokens'],
  ])('%j is refused as %s and names the field', async (job, code, field) => {
    expect(await refusal(addOne(db, job as Partial<NewJob>))).toMatchObject({ code, field, class: 'config' })
  })
})

describe('claim', () => {
  // promise: one-writer
  test('each claim of a job gets a higher epoch, and only one worker has it', async () => {
    const id = await addOne(db)
    const racers = await Promise.all(Array.from({ length: 8 }, () => claim(db, id)))
    const won = racers.filter((job) => job !== undefined)
    expect(won.map((job) => job.leaseEpoch)).toEqual([1])
    await expire(db, id)
    expect(await sweepLeases(db)).toBe(1)
    expect((await mustClaim(db, id)).leaseEpoch).toBe(2)
    expect(await storyOf(db, id)).toEqual([
      'job.created >ready',
      'job.running ready>running',
      'job.lost running>ready',
      'job.running ready>running',
    ])
  })

  test('another generation, a job that is not due and one that has ended are not ours', async () => {
    const [later = '', over = ''] = await add(db, { runAfterMs: 3_600_000 }, {})
    expect(await claim(db, later)).toBeUndefined()
    expect(await jobOf(db, later)).toMatchObject({ state: 'ready', bell: 'held' })
    expect(await claim(db, over, { generation: 2 })).toBeUndefined()
    await end(db, await mustClaim(db, over), done())
    expect(await claim(db, over)).toBeUndefined()
  })

  test('two bells of one job in one group give it to the first only', async () => {
    const id = await addOne(db)
    const ask = { id, generation: 1, version: 1 }
    const by = { workerId: '0198c0de-0000-7000-8000-000000000000', leaseMs: 60_000 }
    const outcomes = (await claimGroup(db, [ask, ask, ask], by)).map(({ outcome }) => outcome)
    expect(outcomes).toEqual(['claimed', 'not-ours', 'not-ours'])
  })

  // promise: newer-payload
  test('a payload that is too new is left alone by an old worker and taken by a new one', async () => {
    const id = await addOne(db)
    await db`update job set payload_version = 2 where id = ${id}::uuid`
    expect(await claim(db, id, { version: 1 })).toBeUndefined()
    expect(await jobOf(db, id)).toMatchObject({ state: 'ready', bell: 'held', leaseEpoch: 0, attempt: 0 })
    await makeDue(db, id)
    expect((await mustClaim(db, id, { version: 2 })).payloadVersion).toBe(2)
  })
})

describe('a fenced worker', () => {
  const takeOver = async () => {
    const id = await addOne(db)
    const old = await mustClaim(db, id)
    await expire(db, id)
    await sweepLeases(db)
    const now = await mustClaim(db, id)
    return { id, old, now, zombie: contextOf(db, old) }
  }
  const facts = async (id: string) => ({
    job: await jobOf(db, id),
    effects: await effectsOf(db, id),
    story: await storyOf(db, id),
  })

  // promise: one-writer
  test('changes nothing: no finish, no failure, no wait, no checkpoint, no effect, no transaction', async () => {
    const { id, old, zombie } = await takeOver()
    const before = await facts(id)
    let acted = false
    const spec = {
      kind: 'k',
      platform: 'p',
      name: 'n',
      undo: null,
      observe: () => Promise.resolve({ found: false as const }),
      act: () => {
        acted = true
        return Promise.resolve(undefined)
      },
    }
    const holder = zombie.holder()
    expect(await finishGroup(db, [{ id, epoch: old.leaseEpoch, result: null }], 'zombie')).toEqual([false])
    for (const write of [
      () => end(db, old, done()),
      () => end(db, old, { type: 'thrown', thrown: new Error('boom') }),
      () => end(db, old, { type: 'wait', reason: 'r', detail: 'd', forMs: 10 }),
      () => end(db, old, { type: 'canceled' }),
      () => zombie.checkpoint({ at: 1 }),
      () => performEffect(db, holder, spec),
      () => performEffect(db, holder, { ...spec, checkpoint: { at: 2 } }),
      () => zombie.transaction((tx) => tx`delete from job`),
    ])
      await expect(write()).rejects.toThrow(FencedError)
    expect(acted).toBe(false)
    expect(await facts(id)).toEqual(before)
  })

  // promise: one-writer
  test('is stopped by its next heartbeat, and the heartbeat extends only what it still holds', async () => {
    const { id, old } = await takeOver()
    const mine = await addOne(db)
    const worker = createWorker(db, () => Promise.resolve(done()))
    const kept = contextOf(db, await mustClaim(db, mine))
    const lost = contextOf(db, old)
    worker.keeper.keep(kept, performance.now())
    worker.keeper.keep(lost, performance.now())
    await db`update job set lease_until = now() + interval '1 second' where id in (${mine}::uuid, ${id}::uuid)`
    kept.progress({ done: 1, total: 2, phase: 'half' })
    await worker.keeper.beat()
    expect([kept.signal.aborted, lost.signal.aborted, lost.lost.aborted]).toEqual([false, true, true])
    expect(lost.signal.reason).toBeInstanceOf(FencedError)
    const [row] = await db`
      select progress, lease_until > now() + interval '30 seconds' as extended from job where id = ${mine}::uuid`
    expect(row).toEqual({
      progress: { done: 1, total: 2, phase: 'half', last_progress_at: expect.any(String) },
      extended: true,
    })
    expect((await jobOf(db, id)).leaseUntil?.getTime()).toBeLessThan(Date.now() + 30_000)
  })

  test('cannot keep an old run going beside a new one in the same process', async () => {
    const id = await addOne(db)
    const worker = createWorker(db, () => Promise.resolve(done()))
    const old = contextOf(db, await mustClaim(db, id))
    worker.keeper.keep(old, performance.now())
    await expire(db, id)
    await sweepLeases(db)
    const now = contextOf(db, await mustClaim(db, id))
    worker.keeper.keep(now, performance.now())
    expect([old.lost.aborted, now.lost.aborted]).toEqual([true, false])
    worker.keeper.drop(old)
    expect(worker.keeper.contexts()).toEqual([now])
  })

  test('a lease that a transaction has proved is not taken back before that transaction ends', async () => {
    const id = await addOne(db)
    const ctx = contextOf(db, await mustClaim(db, id))
    await expire(db, id)
    const swept = await ctx.transaction(async () => sweepLeases(db))
    expect(swept).toBe(0)
    expect(await sweepLeases(db)).toBe(1)
    expect(await stateOf(db, id)).toBe('ready')
  })
})

/** The same database, with every statement counted. */
const counting = (): { db: Db; count: () => number } => {
  let statements = 0
  const counted = openDb({ url: database.url, max: 4, applicationName: 'counted' })
  atEnd(() => counted.end({ timeout: 5 }))
  const proxy = new Proxy(counted, {
    apply: (target, self, args: unknown[]) => {
      if (Array.isArray(args[0]) && 'raw' in args[0]) statements += 1
      return Reflect.apply(target, self, args)
    },
  })
  return { db: proxy, count: () => statements }
}

describe('group commit', () => {
  test('200 jobs of one process share a handful of claims and of finishes', async () => {
    const counted = counting()
    const ids = await add(db, ...Array.from({ length: 200 }, () => ({})))
    const worker = createWorker(counted.db, () => Promise.resolve(done({ ok: true })))
    await Promise.all(ids.map((id) => worker.follow(id)))
    const [ended] = await db<{ jobs: number; results: number }[]>`
      select count(*)::int as jobs, count(*) filter (where result = '{"ok": true}')::int as results
      from job where id = any(${ids}::uuid[]) and state = 'succeeded'`
    expect(ended).toEqual({ jobs: 200, results: 200 })
    expect(counted.count()).toBeLessThan(20)
  })

  test('beats, finishes, claims and rings of the same rows in any order never end in a deadlock', async () => {
    const shuffled = (ids: readonly string[]) => [...ids].sort(() => Math.random() - 0.5)
    const before = await deadlocks()
    const { heartbeatJobs } = await import('../../../db/queries/leases/heartbeat-jobs.ts')
    const { markRung } = await import('../../../db/queries/bell/mark-rung.ts')
    for (let round = 0; round < 6; round += 1) {
      const ids = await add(db, ...Array.from({ length: 400 }, () => ({})))
      const by = { workerId: '0198c0de-0000-7000-8000-000000000000', leaseMs: 60_000 }
      await Promise.all([
        claimGroup(
          db,
          shuffled(ids).map((id) => ({ id, generation: 1, version: 1 })),
          by,
        ),
        markRung(
          db,
          shuffled(ids).map((id) => ({ id, publish: 0 })),
        ),
      ])
      await Promise.all([
        heartbeatJobs(
          db,
          shuffled(ids).map((id) => ({ id, epoch: 1, progress: null })),
          60_000,
        ),
        finishGroup(
          db,
          shuffled(ids).map((id) => ({ id, epoch: 1, result: null })),
          'test',
        ),
      ])
    }
    expect(await deadlocks()).toBe(before)
  })
})

const deadlocks = async (): Promise<number> => {
  const [row] = await db<{ deadlocks: number }[]>`
    select deadlocks::int as deadlocks from pg_stat_database where datname = current_database()`
  return row?.deadlocks ?? 0
}

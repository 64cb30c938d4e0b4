import { describe, expect, test } from 'vitest'
import { DroverError, FencedError } from '../../../src/errors.ts'
import { sweepDeadlines, sweepDebts, sweepLeases } from '../../../src/ledger/conductor/sweeps.ts'
import { done, waitFor } from '../../../src/ledger/job.ts'
import { handleSettleDebt } from '../../../workers/handlers/settle-debt.ts'
import type { RunningJob } from '../../../workers/running-job.ts'
import { checkInvariants } from '../../support/invariants.ts'
import {
  addOne,
  claim,
  contextOf,
  effectsOf,
  end,
  expire,
  jobOf,
  mustClaim,
  stateOf,
  type Undoers,
} from '../../support/ledger.ts'
import { redrive, requestCancel, waiveEffect } from '../../support/ledger-verbs.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()

/** An outside world in memory: what is there, and every call that was made. */
const createWorld = () => {
  const there = new Set<string>()
  const calls: string[] = []
  let broken = false
  const breakDown = (on: boolean) => {
    broken = on
  }
  const undoers: Undoers = new Map([
    [
      'thing',
      async ({ effect }) => {
        if (broken)
          throw new DroverError({
            code: 'away',
            class: 'environment',
            message: 'It is away.',
            remedy: 'Wait.',
          })
        calls.push(`undo ${effect.name}`)
        there.delete(effect.name)
      },
    ],
  ])
  const make = (ctx: RunningJob, name: string, act?: () => Promise<undefined>) =>
    ctx.effect({
      kind: 'thing',
      platform: 'memory',
      name,
      undo: { name },
      observe: () =>
        Promise.resolve(there.has(name) ? { found: true, externalId: `x-${name}` } : { found: false }),
      act:
        act ??
        (() => {
          calls.push(`make ${name}`)
          there.add(name)
          return Promise.resolve({ externalId: `x-${name}` })
        }),
    })
  return { there, calls, undoers, make, break: breakDown }
}
const permanent = new DroverError({ code: 'p', class: 'permanent', message: 'No.', remedy: 'None.' })
const failing = { type: 'thrown' as const, thrown: permanent }
const states = async (id: string) => (await effectsOf(db, id)).map((effect) => effect.state)

/** Runs the job that settles a debt, as the relay and a worker would. */
const settleDebts = async (undoers: ReturnType<typeof createWorld>['undoers']): Promise<number> => {
  await db`update effect set next_try_at = now() - interval '1 millisecond' where state = 'debt'`
  const sent = await sweepDebts(db)
  const jobs = await db<{ id: string }[]>`select id from job where kind = 'settle-debt' and state = 'ready'`
  for (const { id } of jobs) {
    const ctx = contextOf(db, await mustClaim(db, id))
    await end(db, ctx.job, await handleSettleDebt(undoers).run(ctx))
  }
  return sent
}

test('an effect whose lease is lost during its call is recorded by the next holder alone', async () => {
  const world = createWorld()
  const id = await addOne(db)
  const first = contextOf(db, await mustClaim(db, id))
  let second = first
  const loseLease = async () => {
    world.there.add('late')
    await expire(db, id)
    await sweepLeases(db)
    second = contextOf(db, await mustClaim(db, id))
    return undefined
  }
  await expect(world.make(first, 'late', loseLease)).rejects.toThrow(FencedError)
  expect(await states(id)).toEqual(['intended'])
  expect(await world.make(second, 'late')).toMatchObject({ adopted: true })
  await end(db, second.job, done())
})

describe('an effect', () => {
  // promise: intent-first
  test('is intended before it is done, and its record tells what came of it', async () => {
    const world = createWorld()
    const id = await addOne(db)
    const ctx = contextOf(db, await mustClaim(db, id))
    const result = await world.make(ctx, 'a', async () => {
      expect(await states(id)).toEqual(['intended'])
      return undefined
    })
    expect(result).toMatchObject({ adopted: false, externalId: null })
    expect(await world.make(ctx, 'b')).toMatchObject({ adopted: false, externalId: 'x-b' })
    expect(await states(id)).toEqual(['done', 'done'])
    await end(db, ctx.job, done())
    expect(await states(id)).toEqual(['done', 'done'])
  })

  // promise: intent-first
  test('is looked for before it is repeated: found, it is adopted; not found, it is done', async () => {
    const world = createWorld()
    const id = await addOne(db)
    const first = contextOf(db, await mustClaim(db, id))
    const crash = new Error('the answer was lost')
    const lost = (name: string, happened: boolean) =>
      world.make(first, name, () => {
        if (happened) world.there.add(name)
        throw crash
      })
    await expect(lost('happened', true)).rejects.toBe(crash)
    await expect(lost('not', false)).rejects.toBe(crash)
    await expire(db, id)
    await sweepLeases(db)
    const second = contextOf(db, await mustClaim(db, id))
    expect(await world.make(second, 'happened')).toMatchObject({ adopted: true, externalId: 'x-happened' })
    expect(await world.make(second, 'not')).toMatchObject({ adopted: false })
    expect(await world.make(second, 'not')).toMatchObject({ adopted: true })
    expect(world.calls).toEqual(['make not'])
    await end(db, second.job, done())
  })

  // promise: unknown-is-not-absent
  test('whose look fails is not acted on: unknown is not absent', async () => {
    const world = createWorld()
    const id = await addOne(db)
    const ctx = contextOf(db, await mustClaim(db, id))
    await expect(world.make(ctx, 'a', () => Promise.reject(new Error('lost')))).rejects.toThrow('lost')
    const blind = ctx.effect({
      kind: 'thing',
      platform: 'memory',
      name: 'a',
      undo: null,
      observe: () => Promise.reject(new Error('no sight')),
      act: () => Promise.reject(new Error('acted blindly')),
    })
    await expect(blind).rejects.toThrow('no sight')
    await end(db, ctx.job, failing, { undoers: world.undoers })
    expect(await states(id)).toEqual(['undone'])
  })
})

describe('failure and cancel', () => {
  // promise: undone-first
  test('undo what stands, the latest first, before the job ends', async () => {
    for (const ending of [failing, { type: 'canceled' as const }]) {
      const world = createWorld()
      const id = await addOne(db)
      const ctx = contextOf(db, await mustClaim(db, id))
      for (const name of ['a', 'b', 'c']) await world.make(ctx, name)
      await end(db, ctx.job, ending, { undoers: world.undoers })
      expect(world.calls.slice(3)).toEqual(['undo c', 'undo b', 'undo a'])
      expect(await states(id)).toEqual(['undone', 'undone', 'undone'])
    }
  })

  test("a cancel of a job that waits with effects is a worker's to end; a second cancel asks no more", async () => {
    const world = createWorld()
    const id = await addOne(db, { lane: 'waits' })
    const ctx = contextOf(db, await mustClaim(db, id))
    await world.make(ctx, 'a')
    await end(db, ctx.job, waitFor({ reason: 'r', detail: 'd', forMs: 3_600_000, signal: 's' }))
    const cancel = () => requestCancel(db, id, { by: 'test', reason: 'no more' })
    expect(await cancel()).toEqual({ outcome: 'requested', state: 'waiting' })
    expect(await cancel()).toEqual({ outcome: 'requested', state: 'ready' })
    expect(await jobOf(db, id)).toMatchObject({ state: 'ready', bell: 'due', waitSignal: null })
    const next = await mustClaim(db, id)
    expect(next.cancelRequested).toBe(true)
    await end(db, next, { type: 'canceled' }, { undoers: world.undoers })
    expect([await stateOf(db, id), world.there.size]).toEqual(['canceled', 0])
    expect(await cancel()).toEqual({ outcome: 'ended', state: 'canceled' })
  })

  test('a cancel needs no admission to undo what the job left', async () => {
    const world = createWorld()
    const tokens = ['link/cancel-needs-none']
    const id = await addOne(db, { tokens })
    const ctx = contextOf(db, await mustClaim(db, id))
    await world.make(ctx, 'a')
    await db`insert into admission_limit (name, capacity, updated_by) values (${tokens[0] ?? ''}, 0, 'test')`
    await end(db, ctx.job, waitFor({ reason: 'r', detail: 'd', forMs: 3_600_000 }))
    await requestCancel(db, id, { by: 'test', reason: 'no more' })
    await end(db, await mustClaim(db, id), { type: 'canceled' }, { undoers: world.undoers })
    expect([await stateOf(db, id), world.there.size]).toEqual(['canceled', 0])
  })

  test('without effects a cancel ends a ready, a held and a waiting job at once', async () => {
    const cancel = (id: string) => requestCancel(db, id, { by: 'test', reason: 'r' })
    const waiting = await addOne(db)
    await end(db, await mustClaim(db, waiting), waitFor({ reason: 'r', detail: 'd', forMs: 1_000_000 }))
    for (const id of [await addOne(db), await addOne(db, { runAfterMs: 3_600_000 }), waiting]) {
      expect(await cancel(id)).toEqual({ outcome: 'canceled', state: 'canceled' })
      expect(await claim(db, id)).toBeUndefined()
    }
    expect(await cancel('0198c0de-0000-7000-8000-000000000000')).toEqual({ outcome: 'not-found' })
  })
})

describe('a debt', () => {
  const indebted = async () => {
    const world = createWorld()
    const id = await addOne(db)
    const ctx = contextOf(db, await mustClaim(db, id))
    await world.make(ctx, `debt-${id}`)
    world.break(true)
    await end(db, ctx.job, { type: 'canceled' }, { undoers: world.undoers })
    const [effect] = await effectsOf(db, id)
    if (!effect) throw new Error('The job has left no effect.')
    return { world, id, effect }
  }

  // promise: debt
  test('never turns the outcome: the job is cancelled, the debt is recorded and due later', async () => {
    const { id, effect } = await indebted()
    expect(await stateOf(db, id)).toBe('canceled')
    expect(effect).toMatchObject({
      state: 'debt',
      attempts: 1,
      error: { code: 'away', class: 'environment' },
    })
    expect(effect.nextTryAt?.getTime()).toBeGreaterThan(effect.updatedAt.getTime())
    expect(await sweepDebts(db)).toBe(0)
    await db`update effect set state = 'waived', waived_by = 't', waived_reason = 't' where state = 'debt'`
  })

  // promise: debt
  test('is tried again until it is settled, and blocks the redrive until then', async () => {
    const { world, id } = await indebted()
    expect(await redrive(db, id, { by: 'test' })).toEqual({ outcome: 'job-in-debt' })
    expect(await settleDebts(world.undoers)).toBe(1)
    expect(await states(id)).toEqual(['debt'])
    world.break(false)
    expect(await settleDebts(world.undoers)).toBe(1)
    expect([await states(id), world.there.size]).toEqual([['undone'], 0])
    expect(await sweepDebts(db)).toBe(0)
    expect(await redrive(db, id, { by: 'test' })).toEqual({ outcome: 'ready', generation: 2 })
    const again = contextOf(db, await mustClaim(db, id, { generation: 2 }))
    expect(await world.make(again, `debt-${id}`)).toMatchObject({ adopted: false })
    await end(db, again.job, done())
    expect(await states(id)).toEqual(['done'])
  })

  test('is waived by a person, with a reason, once; then nobody tries it again', async () => {
    const { world, id, effect } = await indebted()
    const waiver = { by: 'ann', reason: 'removed by hand' }
    expect(await waiveEffect(db, effect.id, waiver)).toBe(true)
    expect(await waiveEffect(db, effect.id, waiver)).toBe(false)
    expect((await effectsOf(db, id))[0]).toMatchObject({ state: 'waived', waivedBy: 'ann', nextTryAt: null })
    expect(await settleDebts(world.undoers)).toBe(0)
  })

  test('of a waived effect that is still there is not made a second time by a redrive, but adopted', async () => {
    const { world, id, effect } = await indebted()
    await waiveEffect(db, effect.id, { by: 'ann', reason: 'it may stay' })
    await redrive(db, id, { by: 'test' })
    const again = contextOf(db, await mustClaim(db, id, { generation: 2 }))
    expect(await world.make(again, `debt-${id}`)).toMatchObject({ adopted: true })
    expect((await effectsOf(db, id))[0]).toMatchObject({ state: 'done', waivedBy: null, waivedReason: null })
    await end(db, again.job, done())
  })

  // promise: debt
  test('is what a job leaves that ends without a worker: by its deadline, or by too many lost workers', async () => {
    const world = createWorld()
    const [late, lost] = [await addOne(db), await addOne(db)]
    for (const id of [late, lost]) await world.make(contextOf(db, await mustClaim(db, id)), `left-${id}`)
    await db`update job set deadline = now() - interval '1 second' where id = ${late}::uuid`
    await db`update job set lost = 4 where id = ${lost}::uuid`
    await expire(db, lost)
    await sweepDeadlines(db, 60_000)
    await sweepLeases(db)
    expect([await stateOf(db, late), await stateOf(db, lost)]).toEqual(['failed', 'failed'])
    expect([await states(late), await states(lost)]).toEqual([['debt'], ['debt']])
    // The run that missed its deadline may be in the middle of a call until it hears of it.
    const due =
      await db`select job_id from effect where state = 'debt' and next_try_at < now() + interval '1 second'`
    expect(due.map((row) => row.jobId)).toEqual([lost])
    await settleDebts(world.undoers)
    expect(world.there.size).toBe(0)
  })
})

test('after effects and debts of every kind the whole ledger obeys its laws', async () => {
  expect(await checkInvariants(db)).toEqual([])
})

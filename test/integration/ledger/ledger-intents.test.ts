import { describe, expect, test } from 'vitest'
import { sweepDebts, sweepIntents } from '../../../src/ledger/conductor/sweeps.ts'
import { done } from '../../../src/ledger/job.ts'
import { finishGroup } from '../../../src/ledger/jobs/settle.ts'
import { PlatformError } from '../../../src/platforms/ports/platform-error.ts'
import { handleSettleDebt } from '../../../workers/handlers/settle-debt.ts'
import type { RunningJob } from '../../../workers/running-job.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { addOne, contextOf, effectsOf, end, mustClaim, type Undoers } from '../../support/ledger.ts'
import { waiveEffect } from '../../support/ledger-verbs.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()

const refusal = new PlatformError({
  ...{ code: 'platform-refused', failure: 'refused', message: 'No.', remedy: 'Ask for something else.' },
})
const fault = new PlatformError({
  ...{ code: 'platform-fault', failure: 'unknown', message: 'It broke.', remedy: 'Look at the platform.' },
})

const there = new Set<string>()
const looks: string[] = []
const undoers: Undoers = new Map([
  [
    'thing',
    async ({ effect }) => {
      looks.push(effect.name)
      there.delete(effect.name)
    },
  ],
])

interface Asked {
  readonly name: string
  readonly undo?: Record<string, unknown> | null
  readonly fails: Error
}

/** An effect that a platform refuses, or does and then breaks. */
const make = (ctx: RunningJob, { name, undo = { name }, fails }: Asked) =>
  ctx
    .effect({
      ...{ kind: 'thing', platform: 'memory', name, undo },
      observe: () => Promise.resolve({ found: false }),
      act: () => {
        if (fails === fault) there.add(name)
        return Promise.reject(fails)
      },
    })
    .catch((error: unknown) => expect(error).toBe(fails))

const begin = async (): Promise<RunningJob> => contextOf(db, await mustClaim(db, await addOne(db)))
const statesOf = async ({ job }: RunningJob) =>
  Object.fromEntries((await effectsOf(db, job.id)).map(({ name, state }) => [name, state]))

/** The ends of a job in success: one by one, or with others in one statement. */
const succeed = {
  'by itself': (ctx: RunningJob) => end(db, ctx.job, done(), { ctx }),
  'in a group': (ctx: RunningJob) =>
    finishGroup(db, [{ id: ctx.job.id, epoch: ctx.job.leaseEpoch, result: null }], 'test'),
}

const settle = async (): Promise<void> => {
  await db`update effect set next_try_at = now() - interval '1 second' where state = 'debt'`
  await sweepDebts(db)
  const jobs = await db<{ id: string }[]>`select id from job where kind = 'settle-debt' and state = 'ready'`
  for (const { id } of jobs) {
    const ctx = contextOf(db, await mustClaim(db, id))
    await end(db, ctx.job, await handleSettleDebt(undoers).run(ctx))
  }
}

describe.each(Object.entries(succeed))('a job that succeeds %s', (how, ends) => {
  test(`intends nothing any more: refused is undone, unknown is a debt, nothing to undo is undone (${how})`, async () => {
    const ctx = await begin()
    const [no, lost, plain] = ['refused', 'unknown', 'plain'].map((what) => `${what} ${how}`)
    await make(ctx, { name: no ?? '', fails: refusal })
    await make(ctx, { name: lost ?? '', fails: fault })
    await make(ctx, { name: plain ?? '', fails: fault, undo: null })
    await ends(ctx)
    expect(await statesOf(ctx)).toEqual({
      [no ?? '']: 'undone',
      [lost ?? '']: 'debt',
      [plain ?? '']: 'undone',
    })
    expect(await checkInvariants(db)).toEqual([])
    await settle()
    expect(looks).toEqual([lost])
    expect(there.has(lost ?? '')).toBe(false)
    expect(await statesOf(ctx)).toMatchObject({ [lost ?? '']: 'undone' })
    looks.length = 0
  })
})

test('one clear no does not speak for an earlier try whose answer was lost', async () => {
  const ctx = await begin()
  await make(ctx, { name: 'twice', fails: fault })
  await make(ctx, { name: 'twice', fails: refusal })
  await end(db, ctx.job, done(), { ctx })
  expect(await statesOf(ctx)).toEqual({ twice: 'debt' })
  await settle()
  looks.length = 0
})

// promise: debt
test('what an older version left intended is closed by a sweep, and that of jobs under way is left alone', async () => {
  const [ended, running] = [await begin(), await begin()]
  await make(ended, { name: 'left', fails: fault })
  await make(running, { name: 'under way', fails: fault })
  await db`update job set state = 'succeeded', finished_at = now(), lease_until = null where id = ${ended.job.id}::uuid`
  expect(await sweepIntents(db)).toBe(1)
  expect(await sweepIntents(db)).toBe(0)
  expect(await statesOf(ended)).toEqual({ left: 'debt' })
  expect(await statesOf(running)).toEqual({ 'under way': 'intended' })
  await settle()
  expect(await statesOf(ended)).toEqual({ left: 'undone' })
  await end(db, running.job, done(), { ctx: running })
})

// promise: debt
test('a debt whose try stands in line can be waived, and that try leaves it alone', async () => {
  const ctx = await begin()
  await make(ctx, { name: 'waived', fails: fault })
  await end(db, ctx.job, done(), { ctx })
  const [effect] = await effectsOf(db, ctx.job.id)
  await db`update effect set next_try_at = now() - interval '1 second' where id = ${effect?.id ?? ''}::uuid`
  expect(await sweepDebts(db)).toBeGreaterThan(0)
  looks.length = 0
  expect(await waiveEffect(db, effect?.id ?? '', { by: 'ada', reason: 'removed by hand' })).toBe(true)
  await settle()
  expect(looks).not.toContain('waived')
  expect(await statesOf(ctx)).toEqual({ waived: 'waived' })
})

test('a checkpoint that goes with an intent is there before the platform is asked, and with the intent alone', async () => {
  const id = await addOne(db)
  const ctx = contextOf(db, await mustClaim(db, id))
  const seen: unknown[] = []
  const stored = async () => {
    const [row] =
      await db`select checkpoint, (select count(*)::int from effect where job_id = job.id) as effects
      from job where id = ${id}::uuid`
    return row
  }
  await ctx.effect({
    ...{ kind: 'thing', platform: 'memory', name: 'noted', undo: null, checkpoint: { asked: true } },
    observe: () => Promise.resolve({ found: false }),
    act: async () => {
      seen.push(await stored(), ctx.checkpointed)
      return undefined
    },
  })
  expect(seen).toEqual([{ checkpoint: { asked: true }, effects: 1 }, { asked: true }])
  await end(db, ctx.job, done())
})

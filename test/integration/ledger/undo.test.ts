import { expect, test } from 'vitest'
import { findOpenEffects } from '../../../db/queries/effects/effects.ts'
import { deleteMarker } from '../../../db/queries/jobs/self-test-world.ts'
import { DroverError, FencedError } from '../../../src/errors.ts'
import { sweepLeases } from '../../../src/ledger/conductor/sweeps.ts'
import type { Undoer } from '../../../src/ledger/job.ts'
import { CpuPool } from '../../../workers/cpu-pool.ts'
import { handleSelfTest } from '../../../workers/handlers/self-test.ts'
import type { RunningJob } from '../../../workers/running-job.ts'
import { undoOne } from '../../../workers/undo-effects.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { addOne, contextOf, effectsOf, end, expire, jobOf, mustClaim } from '../../support/ledger.ts'
import { redrive } from '../../support/ledger-verbs.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()
const selfTest = handleSelfTest(db, new CpuPool())
const failure = new DroverError({ code: 'no', class: 'permanent', message: 'No.', remedy: 'None.' })

const removes: Undoer = ({ effect }) => deleteMarker(db, effect)
const removesAndDies: Undoer = async ({ effect }) => {
  await deleteMarker(db, effect)
  throw new FencedError(effect.jobId, effect.epoch)
}
const undoersOf = (undoer: Undoer) => new Map([['self-test-marker', undoer]])

/** Claims the job and runs it as far as its handler goes, without an end. */
const run = async (id: string, generation = 1): Promise<RunningJob> => {
  const ctx = contextOf(db, await mustClaim(db, id, { generation }))
  await selfTest.run(ctx as Parameters<typeof selfTest.run>[0])
  return ctx
}

const callsOf = async (id: string): Promise<string[]> => {
  const calls = await db<{ action: string }[]>`
    select action from self_test.call where job_id = ${id}::uuid order by id`
  return calls.map(({ action }) => action)
}

const succeed = async (ctx: RunningJob) => {
  await end(db, ctx.job, { type: 'done' }, { ctx })
  expect((await effectsOf(db, ctx.job.id)).map(({ state }) => state)).toEqual(['done', 'done'])
  expect(await checkInvariants(db)).toEqual([])
}

const loseLease = async (id: string) => {
  await expire(db, id)
  expect(await sweepLeases(db)).toBe(1)
}

test('a job that is redriven after its effects were undone makes them anew', async () => {
  const id = await addOne(db, { payload: { effects: 2 } })
  const first = await run(id)
  await end(db, first.job, { type: 'thrown', thrown: failure }, { ctx: first, undoers: undoersOf(removes) })
  await redrive(db, id, { by: 'test' })
  await succeed(await run(id, 2))
  expect(await callsOf(id)).toEqual(['made', 'made', 'removed', 'removed', 'made', 'made'])
})

test.each([
  ['before it was recorded', removesAndDies],
  ['after it was recorded', removes],
])(
  'a worker dies with one effect undone, %s: the next try makes that one anew and keeps the other',
  async (_when, undoer) => {
    const id = await addOne(db, { payload: { effects: 2 } })
    const ctx = await run(id)
    const [latest] = await findOpenEffects(db, id)
    if (!latest) throw new Error('The job has made no effect.')
    const { signal, confirm } = ctx.holder()
    const options = { ctx, undoers: undoersOf(undoer), actor: 'test', signal, confirm }
    await undoOne(latest, options).catch((error: unknown) => {
      if (!(error instanceof FencedError)) throw error
    })
    await loseLease(id)
    await succeed(await run(id))
    expect(await callsOf(id)).toEqual(['made', 'made', 'removed', 'made'])
  },
)

test('a worker that lost its lease undoes nothing', async () => {
  const id = await addOne(db, { payload: { effects: 2 } })
  const zombie = await run(id)
  await loseLease(id)
  const next = await run(id)
  await expect(
    end(db, zombie.job, { type: 'thrown', thrown: failure }, { ctx: zombie, undoers: undoersOf(removes) }),
  ).rejects.toThrow(FencedError)
  expect((await jobOf(db, id)).checkpoint).toEqual({ effects: 2 })
  await succeed(next)
  expect(await callsOf(id)).toEqual(['made', 'made'])
})

import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { writeLimit } from '../../../db/queries/tokens/limits.ts'
import { setJobTokens } from '../../../db/queries/tokens/set-job-tokens.ts'
import { operateMachine } from '../../../src/domain/job/kinds/operate-machine.ts'
import { DroverError } from '../../../src/errors.ts'
import { sweepLeases } from '../../../src/ledger/conductor/sweeps.ts'
import { done, type Handler, type JobContext, waitFor } from '../../../src/ledger/job.ts'
import { lapseReservations, readmitAll } from '../../../src/ledger/jobs/admission.ts'
import { createEntryWorker } from '../../support/entry-world.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { addOne, claim, expire, holdsOf, jobOf, stateOf } from '../../support/ledger.ts'
import { requestCancel } from '../../support/ledger-verbs.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()

let next: Handler['run'] = () => Promise.reject(new Error('No turn was asked for.'))
const worker = createEntryWorker(db, [
  { kind: operateMachine, run: (ctx: JobContext) => next(ctx) } as unknown as Handler,
])
const waits: Handler['run'] = () =>
  Promise.resolve(waitFor({ reason: 'in-progress', detail: 'It goes on outside.', forMs: 60_000 }))

let things = 0
/** A token with room for one, and two jobs that need it: the first holds it and waits for something else. */
const heldBetweenTurns = async () => {
  const token = `link/kept-${things++}`
  await db.begin((tx) => writeLimit(tx, { name: token, capacity: 1, by: 'test' }))
  const make = () =>
    addOne(db, { kind: 'operate-machine', payload: { operation_id: uuidv7() }, tokens: [token] })
  const [first, second] = [await make(), await make()]
  next = waits
  expect(await worker.follow(first)).toMatchObject({ state: 'waiting', waitReason: 'in-progress' })
  expect(await worker.follow(second)).toMatchObject({ state: 'waiting', waitReason: 'token' })
  return { token, first, second }
}

const wake = (id: string) => db`
  update job set state = 'ready', bell = 'due', run_after = now(), wait_reason = null, wait_detail = null, wait_since = null,
    wait_until = null, wait_signal = null where id = ${id}::uuid`

test('between its turns a job of such a kind holds what it was admitted with, until it ends', async () => {
  const { token, first, second } = await heldBetweenTurns()
  expect(await holdsOf(db, token)).toEqual([first])
  expect(await lapseReservations(db, 0)).toBe(0)
  expect(await readmitAll(db)).toBe(0)
  await checkInvariants(db)
  await wake(first)
  next = async () => {
    throw new DroverError({ code: 'away', class: 'transient', message: 'Away.', remedy: 'Wait.' })
  }
  await worker.follow(first)
  expect(await holdsOf(db, token)).toEqual([first])
  next = async () => done()
  expect(await worker.follow(first)).toMatchObject({ state: 'succeeded' })
  expect(await holdsOf(db, token)).toEqual([second])
  expect(await stateOf(db, second)).toBe('ready')
  await checkInvariants(db)
})

test('a job whose worker is lost holds them too: what they admitted goes on', async () => {
  const { token, first, second } = await heldBetweenTurns()
  await wake(first)
  await claim(db, first)
  await expire(db, first)
  await sweepLeases(db)
  expect(await stateOf(db, first)).toBe('ready')
  expect(await holdsOf(db, token)).toEqual([first])
  expect(await stateOf(db, second)).toBe('waiting')
  await checkInvariants(db)
  next = waits
  expect(await worker.follow(first)).toMatchObject({ state: 'waiting', waitReason: 'in-progress' })
  expect(await holdsOf(db, token)).toEqual([first])
})

test('what it asks for no more goes to the next in line', async () => {
  const { token, first, second } = await heldBetweenTurns()
  await wake(first)
  next = async (ctx) => {
    await ctx.transaction((tx) => setJobTokens(tx, ctx.job.id, []))
    return waitFor({ reason: 'in-progress', detail: 'It needs nothing.', forMs: 60_000 })
  }
  await worker.follow(first)
  expect(await holdsOf(db, token)).toEqual([second])
  await checkInvariants(db)
})

test('who cancels it frees them', async () => {
  const { token, first, second } = await heldBetweenTurns()
  await requestCancel(db, first, { by: 'test', reason: 'No more.' })
  expect(await jobOf(db, first)).toMatchObject({ state: 'canceled' })
  expect(await holdsOf(db, token)).toEqual([second])
  await checkInvariants(db)
})

import { v7 as uuidv7 } from 'uuid'
import { beforeEach, expect, test } from 'vitest'
import { beatWorker } from '../../../db/queries/fleet/workers.ts'
import { done } from '../../../src/ledger/job.ts'
import { readmitAll } from '../../../src/ledger/jobs/admission.ts'
import { add, addOne, claim, end, jobOf, mustClaim, stateOf } from '../../support/ledger.ts'
import { createDatabase } from '../../support/postgres.ts'

/** What jobs of a kind hang on never has all of its slots: room is left in the claim and when a line is let in. */
const { db } = await createDatabase()
const kind = 'cutover-instance'
const slots = 16
const part = slots / 4
const worker = { id: uuidv7(), role: 'worker', host: 'here', pid: 1, version: '0', kinds: { [kind]: 1 } }

beforeEach(async () => {
  await db`delete from job`
  await db`delete from token_hold`
  await beatWorker(db, { ...worker, slots: { [kind]: slots } }, 'active')
})

const cutover = (batch: string, source: string, host = 'esx-1', priority = 0) => ({
  ...{ kind, lane: `batch/${batch}`, priority },
  payload: { batch, entry_id: uuidv7() },
  tokens: [`source-imports/${source}`, `source-host-reads/${source}.${host}`, 'target-imports/unlimited'],
})
const many = (count: number, of: Parameters<typeof cutover>) =>
  add(db, ...Array.from({ length: count }, () => cutover(...of)))

/** Claims them in order, by one living worker; gives how many run. */
const claimAll = async (ids: readonly string[]): Promise<number> => {
  let running = 0
  for (const id of ids) if (await claim(db, id, { workerId: worker.id })) running += 1
  return running
}

beforeEach(async () => {
  await db`delete from admission_limit`
  await db`insert into admission_limit (name, capacity, updated_by) values ('target-imports/unlimited', 1000, 'test')`
})

// promise: hung-work
test('jobs that hang leave slots to other batches, sources and hosts, whichever is claimed first', async () => {
  const hanging = await many(20, ['a', 'dead'])
  expect(await claimAll(hanging)).toBe(part)
  expect(await claimAll(await many(5, ['b', 'living']))).toBeGreaterThanOrEqual(2)
})

test.each([
  ['batch', ['b', 'dead', 'esx-1']],
  ['host', ['a', 'dead', 'esx-2']],
  ['source', ['a', 'living', 'esx-1']],
] as const)('what hangs of one batch on one host leaves slots to another %s', async (_what, living) => {
  expect(await claimAll(await many(20, ['a', 'dead', 'esx-1', 50]))).toBe(part)
  expect(await claimAll(await many(5, [...living]))).toBeGreaterThanOrEqual(2)
})

test('a job without room waits for what it hangs on by its name, and goes on when there is room', async () => {
  const ids = await many(part + 1, ['a', 'dead'])
  await claimAll(ids)
  const [first = ''] = ids
  const last = ids.at(-1) ?? ''
  expect(await jobOf(db, last)).toMatchObject({ state: 'waiting', waitReason: 'room' })
  expect((await jobOf(db, last)).waitDetail).toContain('source-imports/dead')
  const job = await jobOf(db, first)
  await end(db, job as never, done())
  expect(await stateOf(db, last)).toBe('ready')
  await mustClaim(db, last, { workerId: worker.id })
})

test('a new worker is room at once, and one that is gone takes what it ran with it', async () => {
  await claimAll(await many(20, ['a', 'dead']))
  await beatWorker(db, { ...worker, id: uuidv7(), slots: { [kind]: slots } }, 'active')
  expect(await readmitAll(db)).toBe(part)
  await db`update worker set state = 'lost' where id = ${worker.id}::uuid`
  expect(await claimAll(await many(1, ['a', 'elsewhere']))).toBe(1)
  await db`delete from worker where id <> ${worker.id}::uuid`
})

test('a long line of what hangs hides nobody who could go on', async () => {
  await claimAll(await many(200, ['a', 'dead', 'esx-1', 50]))
  await claimAll(await many(part, ['b', 'living']))
  const behind = await addOne(db, cutover('c', 'late'))
  await db`update job set state = 'waiting', wait_reason = 'room', wait_detail = 'x', wait_since = now(),
    wait_until = now() + interval '1 hour', wait_signal = 'token' where id = ${behind}::uuid`
  expect(await readmitAll(db)).toBeGreaterThanOrEqual(1)
  expect(await stateOf(db, behind)).toBe('ready')
})

test('a job that was cancelled puts right what it left, however little room there is', async () => {
  const ids = await many(20, ['a', 'dead'])
  await claimAll(ids)
  const last = ids.at(-1) ?? ''
  await db`update job set cancel_requested_at = now(), state = 'ready', bell = 'due', wait_reason = null, wait_since = null,
    wait_until = null, wait_signal = null where id = ${last}::uuid`
  await mustClaim(db, last, { workerId: worker.id })
})

// promise: hung-work
test('claims that come all at once never give one source more than its part', async () => {
  const ids = await many(30, ['a', 'dead'])
  const won = await Promise.all(ids.map((id) => claim(db, id, { workerId: worker.id })))
  expect(won.filter((job) => job !== undefined)).toHaveLength(part)
})

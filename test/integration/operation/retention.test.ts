import { expect, test } from 'vitest'
import { pruneOperations, pruneStart } from '../../../db/queries/operations/prune-operations.ts'
import { pruneOperationsOnce } from '../../../src/operation/upkeep/retention.ts'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()

/** Ended operations of a machine, one an hour, the newest `days` days ago; asked for so many days before they ended. */
const addEnded = async (machine: string, count: number, days: number, lasted = 0): Promise<void> => {
  await db`
    insert into operation (id, machine_id, kind, state, reason, message, on_conflict, deadline_seconds, expires_at,
      created_by, created_at, finished_at, settled_at)
    select gen_random_uuid(), ${machine}::uuid, 'stop', 'completed', 'completed', 'It is done.', 'reject', 60, t.at,
      'test', t.at - ${lasted} * interval '1 day', t.at, t.at
    from (select now() - ${days} * interval '1 day' - i * interval '1 hour' as at from generate_series(1, ${count}::int) i) t`
}

const countOf = async (machine: string): Promise<number> => {
  const [row] = await db`select count(*)::int as count from operation where machine_id = ${machine}::uuid`
  return row?.count as number
}

/** A whole pass, in small batches. */
const pass = async (): Promise<void> => {
  let after = pruneStart
  for (;;) {
    const { next } = await pruneOperationsOnce(db, { after, limit: 7 })
    if (next === null) return
    after = next
  }
}

// promise: operation-retention
test('old operations go by the time they ended, and the newest ten of each machine stay', async () => {
  const [busy, quiet, young] = await Promise.all([addMachine(db), addMachine(db), addMachine(db)])
  await addEnded(busy, 50, 31)
  await addEnded(busy, 4, 1)
  await addEnded(quiet, 5, 400)
  await addEnded(young, 40, 20)
  await pass()
  expect(await countOf(busy)).toBe(10)
  expect(await countOf(quiet)).toBe(5)
  expect(await countOf(young)).toBe(40)
})

// promise: operation-retention
test('how long ago an operation was asked for does not count, only how long ago it ended', async () => {
  const [waited, quick] = await Promise.all([addMachine(db), addMachine(db)])
  // A hundred days in a queue, and ended yesterday; beside them, what was asked for later and ended before.
  await addEnded(waited, 30, 1, 100)
  await addEnded(waited, 15, 31)
  await addEnded(quick, 15, 31)
  await addEnded(quick, 12, 29, 100)
  await pass()
  expect(await countOf(waited)).toBe(30)
  expect(await countOf(quick)).toBe(12)
})

// promise: operation-retention
test('what has not settled stays, however old', async () => {
  const machine = await addMachine(db)
  await addEnded(machine, 12, 100)
  await addEnded(machine, 10, 31)
  await db`update operation set settled_at = null where id = (
    select id from operation where machine_id = ${machine}::uuid order by finished_at limit 1)`
  await pass()
  expect(await countOf(machine)).toBe(11)
})

test('what can come back stays, however short a time ended ones are kept', async () => {
  const machine = await addMachine(db)
  await addEnded(machine, 12, 3)
  await db`update operation set come_back_at = now() - interval '1 second' where id = (
    select id from operation where machine_id = ${machine}::uuid order by finished_at limit 1)`
  await pruneOperations(db, { days: 1, keep: 10, limit: 1_000, after: pruneStart })
  expect(await countOf(machine)).toBe(11)
})

test('a machine that went long ago goes with the last of its operations', async () => {
  const [gone, freshlyGone] = await Promise.all([addMachine(db), addMachine(db)])
  await addEnded(gone, 3, 500)
  await addEnded(freshlyGone, 3, 5)
  await db`update machine set gone_at = now() - interval '366 days' where id = ${gone}::uuid`
  await db`update machine set gone_at = now() where id = ${freshlyGone}::uuid`
  await pass()
  const left = await db`select id from machine where id in (${gone}::uuid, ${freshlyGone}::uuid)`
  expect(left.map(({ id }) => id)).toEqual([freshlyGone])
  expect(await countOf(freshlyGone)).toBe(3)
})

test('refusals are forgotten after a day', async () => {
  await db`
    insert into operation_refusal (machine_id, kind, force, reason, asked_by, times, since)
    select gen_random_uuid(), 'stop', false, 'blocked', 'ann', 1, now() - i * interval '10 hours'
    from generate_series(0, 4) i`
  await pass()
  const [row] = await db`select count(*)::int as left from operation_refusal`
  expect(row?.left).toBe(3)
})

import { expect, test } from 'vitest'
import { countBusy } from '../../../db/queries/entries/entry-rows.ts'
import { createEntryWorld, placeEntry, sendTo } from '../../support/entry-world.ts'
import { createLab } from '../../support/lab.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()
const world = await createEntryWorld(db, await createLab())
const one = (await placeEntry(world, 'vm-101')).id
const other = (await placeEntry(world, 'vm-102')).id

const busy = () => countBusy(db, { batchId: world.batch.id, constraint: 'quorum', but: other })

test.each([
  ['final-import', 'final', 1],
  ['idle', 'complete', 1],
  ['post-import', 'complete', 1],
  ['worker-done', 'complete', 1],
  // Its source is off while a person thinks: one more of a cluster that goes off may be one too many.
  ['conflict', 'complete', 1],
  ['conflict', 'final', 0],
  ['idle', 'final', 0],
  ['finished', 'complete', 0],
] as const)('an entry in %s (%s) counts under its constraint: %s', async (state, stage, count) => {
  await db`update entry set state = ${state}, stage = ${stage}, constraint_name = 'quorum', window_id = null
    where id = ${one}::uuid`
  expect(await busy()).toBe(count)
})

test('a source that is still to be switched on again counts, wherever its entry stands', async () => {
  await db`update entry set state = 'idle', stage = 'final', source_stopped_at = now(), constraint_name = 'quorum'
    where id = ${one}::uuid`
  expect(await busy()).toBe(1)
  await db`update entry set source_stopped_at = null where id = ${one}::uuid`
  expect(await busy()).toBe(0)
})

test('a cutover that was sent counts before it begins, with windows or without', async () => {
  await sendTo(world, one, 'cutover-instance')
  await db`update entry set state = 'idle', stage = 'final', constraint_name = 'quorum', window_id = null
    where id = ${one}::uuid`
  expect(await busy()).toBe(1)
  await db`update job set finished_at = now(), state = 'canceled' where subject_id = ${one}`
  expect(await busy()).toBe(0)
})

import { v7 as uuidv7 } from 'uuid'
import { afterEach, expect, test } from 'vitest'
import { ownSnapshots } from '../../support/batch-world.ts'
import { driveEntry, lookNow } from '../../support/drive-entry.ts'
import { entryOf, eventsOfEntry, placeEntry, powerOf, sendTo } from '../../support/entry-world.ts'
import { createLab } from '../../support/lab.ts'
import { jobOf } from '../../support/ledger.ts'
import { checkMigration } from '../../support/migration-invariants.ts'
import { createDatabase } from '../../support/postgres.ts'
import { createVerifyWorld } from '../../support/verify-world.ts'

const { db } = await createDatabase()
const lab = await createLab()
const world = await createVerifyWorld(db, lab)

afterEach(async () => {
  await lab.admin('DELETE /lab/faults')
  await db`delete from batch_window`
})

const opensIn = async (seconds: number) => {
  await db`delete from batch_window`
  await db`insert into batch_window (id, batch_id, name, starts_at, ends_at)
    values (${uuidv7()}::uuid, ${world.batch.id}::uuid, 'night', now() + ${seconds}::int * interval '1 second',
      now() + interval '5 hours')`
}

/** An entry with a first copy. */
const copied = async (ref: string) => {
  await opensIn(7_200)
  const { id } = await placeEntry(world, ref)
  await world.worker.finish(await sendTo(world, id, 'import-instance'))
  expect(await entryOf(db, id)).toMatchObject({ state: 'idle', stage: 'final', jobId: null })
  return id
}

test('a top-up whose turn comes within the last limit before the window does not begin', async () => {
  const id = await copied('vm-101')
  await opensIn(540)
  const { syncedAt } = await entryOf(db, id)
  const job = await world.worker.finish(await sendTo(world, id, 'import-instance'))
  expect(job).toMatchObject({ state: 'succeeded', result: { ended: 'not-begun' } })
  expect(await entryOf(db, id)).toMatchObject({ state: 'idle', stage: 'final', jobId: null, syncedAt })
  await lookNow(world)
  expect(await entryOf(db, id)).toMatchObject({ state: 'idle', jobId: null, reason: 'window-later' })
})

test('a top-up that took long before does not begin when it would pass the opening', async () => {
  const id = await copied('vm-102')
  const topUp = async () => world.worker.finish(await sendTo(world, id, 'import-instance'))
  expect(await topUp()).toMatchObject({ result: { cycle: 2 } })
  const { top_ups_ms: took } = (await entryOf(db, id)).progress as { top_ups_ms: number[] }
  expect(took).toEqual([expect.any(Number)])
  await opensIn(1_800)
  expect(await topUp()).toMatchObject({ result: { cycle: 3 } })
  await db`update entry set progress = progress || '{"top_ups_ms": [1500000, 1300000]}' where id = ${id}::uuid`
  expect(await topUp()).toMatchObject({ result: { ended: 'not-begun' } })
})

test('a top-up that stands in line when its window opens is called off, and the cutover begins', async () => {
  const id = await copied('vm-103')
  const job = await sendTo(world, id, 'import-instance')
  await opensIn(-1)
  await lookNow(world)
  expect(await jobOf(db, job)).toMatchObject({ state: 'canceled' })
  await lookNow(world)
  const { jobId } = await entryOf(db, id)
  expect(await jobOf(db, jobId ?? '')).toMatchObject({ kind: 'cutover-instance' })
  await driveEntry(world, id, ['worker-done'])
})

// promise: top-up
test('a top-up that comes no further when its window opens gives way to the cutover, which copies the rest', async () => {
  const id = await copied('vm-104')
  await lab.admin('POST /lab/faults', {
    kind: 'error',
    call: 'snapshot-create',
    site: 'vcenter',
    machine: 'vm-104',
  })
  const job = await sendTo(world, id, 'import-instance')
  await world.worker.follow(job)
  expect(await entryOf(db, id)).toMatchObject({ state: 'background-import', stage: 'final' })
  await opensIn(-1)
  await lookNow(world)
  await lab.admin('DELETE /lab/faults')
  await world.worker.finish(job)
  expect(await jobOf(db, job)).toMatchObject({ state: 'canceled' })
  expect(await ownSnapshots(world)).toEqual([])
  await driveEntry(world, id, ['worker-done'])
  expect(await powerOf(world.from, 'vm-104')).toBe('off')
  expect(await eventsOfEntry(db, id)).toEqual(
    expect.arrayContaining(['entry.sync-put-off', 'entry.cutover-begin', 'entry.copied']),
  )
  expect(await checkMigration(db)).toEqual([])
})

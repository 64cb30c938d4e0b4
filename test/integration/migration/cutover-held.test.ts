import { expect, test } from 'vitest'
import { createCopyWorker } from '../../support/copy-worker.ts'
import { createEntryWorld, entryOf, placeEntry, powerOf, sendTo } from '../../support/entry-world.ts'
import { createLab } from '../../support/lab.ts'
import { jobOf, storyOf } from '../../support/ledger.ts'
import { createDatabase } from '../../support/postgres.ts'

/** From the moment that a source is switched off, the way through its cutover is held. */
const { db } = await createDatabase()
const lab = await createLab()
const world = await createEntryWorld(db, lab, { config: { guest_shutdown_limit: '4s' } })
const worker = createCopyWorker(world)

// promise: cutover-held
test('a cutover keeps its slot and its tokens while the guest shuts itself down', async () => {
  const entry = await placeEntry(world, 'vm-210')
  const tokens = [`target-imports/${world.target.name}`]
  const id = await sendTo(world, entry.id, 'cutover-instance', {}, tokens)
  expect(await worker.follow(id)).toMatchObject({ state: 'succeeded' })
  expect(await powerOf(world.from, 'vm-210')).toBe('off')
  // It was never put back to wait: then both are given back, and whoever stands in line takes them.
  expect(await storyOf(db, id)).toEqual([
    'job.created >ready',
    'job.running ready>running',
    'job.succeeded running>succeeded',
  ])
})

// promise: cutover-held
test('the jobs of an entry whose source is off go before those of entries that have not begun', async () => {
  const entry = await placeEntry(world, 'vm-103')
  const first = await sendTo(world, entry.id, 'cutover-instance')
  expect(await jobOf(db, first)).toMatchObject({ priority: 0 })
  await worker.finish(first)
  expect(await jobOf(db, first)).toMatchObject({ state: 'succeeded', priority: 40 })
  expect(await entryOf(db, entry.id)).toMatchObject({ state: 'worker-done' })
  expect(await jobOf(db, await sendTo(world, entry.id, 'final-verify'))).toMatchObject({ priority: 40 })
})

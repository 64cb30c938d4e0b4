import { expect, test } from 'vitest'
import { listEntryDisks } from '../../../db/queries/copies/entry-disks.ts'
import { ByteBudget } from '../../../src/migration/copy/byte-budget.ts'
import { handleImportInstance } from '../../../workers/handlers/import-instance.ts'
import {
  createEntryWorker,
  createEntryWorld,
  differences,
  entryOf,
  placeEntry,
  recordedOf,
  sendTo,
  snapshotsOf,
} from '../../support/entry-world.ts'
import { createLab } from '../../support/lab.ts'
import { effectsOf } from '../../support/ledger.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()
const lab = await createLab()
const world = await createEntryWorld(db, lab)
const budget = new ByteBudget(16 * 1024 * 1024)
const { use } = world.inventory
const worker = createEntryWorker(db, [handleImportInstance(budget)], use)

test('a first copy is the source as it was at its snapshot, and leaves no snapshot behind', async () => {
  const entry = await placeEntry(world, 'vm-101')
  const job = await worker.finish(await sendTo(world, entry.id, 'import-instance'))
  expect(job).toMatchObject({ state: 'succeeded', result: { cycle: 1, debts: 0, drift: [] } })
  const after = await entryOf(db, entry.id)
  expect(after).toMatchObject({ state: 'idle', stage: 'final', jobId: null })
  expect(after.syncedAt).not.toBeNull()
  expect(await differences(world, after)).toEqual([])
  expect(await snapshotsOf(world, 'vm-101')).toEqual([])
  expect((await effectsOf(db, job.id)).map(({ kind, state }) => [kind, state])).toEqual([
    ['source-snapshot', 'undone'],
  ])
  const [disk] = await listEntryDisks(db, entry.id)
  expect(disk?.changeId).toMatch(/\//)
  expect(disk?.cycle).toMatchObject({ n: 1, state: 'whole', whole: 1, doubt: [] })
  // 5 MiB at the start and 1 MiB in the middle: two extents and one.
  expect((await recordedOf(db, entry.id, '2000')).size).toBe(3)
})

import { beforeAll, expect, test } from 'vitest'
import { listEntryDisks } from '../../db/queries/copies/entry-disks.ts'
import { cleanUp, createFleetWorld, survive } from '../support/entry-fleet.ts'
import { type EntryWorld, entryOf, placeEntry, snapshotsOf } from '../support/entry-world.ts'
import { type Armed, onEachFleet } from '../support/fleet.ts'
import { createLab } from '../support/lab.ts'
import { effectsOf } from '../support/ledger.ts'

const lab = await createLab()
const ref = 'vm-103'

const points: readonly Armed[] = [
  'kill:after-intent',
  'kill:after-effect',
  'kill:before-extent@2',
  'kill:after-extent@3',
  'kill:before-finish',
]

await onEachFleet(
  'kill -9 of a worker that copies a running machine',
  { workers: 0, anyBell: true },
  (fleet) => {
    let world: EntryWorld
    beforeAll(async () => {
      world = await createFleetWorld(fleet, lab)
    })

    test.each(fleet.share(points))('at %s: the copy is whole and nothing is left', async (armed) => {
      const entry = await placeEntry(world, ref)
      const job = await survive(fleet, world, { entryId: entry.id, kind: 'import-instance', armed })
      expect(job).toMatchObject({ state: 'succeeded', result: { cycle: 1, debts: 0 } })
      expect(await entryOf(fleet.db, entry.id)).toMatchObject({ state: 'idle', stage: 'final', jobId: null })
      expect(await snapshotsOf(world, ref)).toEqual([])
      expect(await effectsOf(fleet.db, job.id)).toMatchObject([{ state: 'undone' }])
      for (const { cycle } of await listEntryDisks(fleet.db, entry.id))
        expect(cycle).toMatchObject({ state: 'whole', doubt: [] })
      await cleanUp(fleet, world, { id: entry.id, ref })
    })
  },
)

import { beforeAll, describe, expect, test } from 'vitest'
import { listEntryDisks } from '../../db/queries/entry-disks.ts'
import { nudge } from '../../src/ledger/nudge.ts'
import { createSealer } from '../../src/seal.ts'
import { type Armed, ending, onEachFleet } from '../support/fleet.ts'
import { checkInvariants } from '../support/invariants.ts'
import {
  createJourneyWorld,
  differences,
  entryOf,
  eventsOfEntry,
  type JourneyWorld,
  overlapsOf,
  placeEntry,
  powerOf,
  sendTo,
  snapshotsOf,
} from '../support/journeys.ts'
import { createLab } from '../support/lab.ts'
import { effectsOf, jobOf } from '../support/ledger.ts'

const sealer = createSealer('5e'.repeat(32))
const lab = await createLab()
const ref = 'vm-103'

const copyPoints: readonly Armed[] = [
  'kill:after-intent',
  'kill:after-effect',
  'kill:before-extent@2',
  'kill:after-extent@3',
  'kill:before-finish',
]
/** The first effect is the power-off, the second the snapshot, the third the fitting. */
const cutoverPoints: readonly Armed[] = [
  'kill:after-checkpoint',
  'kill:before-effect',
  'kill:after-effect',
  'kill:after-intent@2',
  'kill:after-effect@2',
  'kill:after-extent@2',
  'kill:before-effect@3',
  'kill:after-effect@3',
  'kill:before-finish',
]

/** Machines on the target that are an entry's. */
const ownedBy = async ({ to }: JourneyWorld, entryId: string): Promise<string[]> => {
  const { json } = await to.call('POST /instances/find-owned', { owner: { 'drover.entry': entryId } })
  return (json as { refs: string[] }).refs
}

await onEachFleet('kill -9 of a worker that copies a machine', { workers: 0 }, (fleet) => {
  let world: JourneyWorld
  beforeAll(async () => {
    world = await createJourneyWorld(fleet.db, lab, { sealer })
    // Only what the test sends is done.
    await fleet.db`update batch set state = 'stopped'`
  })

  /** Kills a worker at a point of a job, and lets another one go on. */
  const survive = async (entryId: string, kind: 'import-instance' | 'cutover-instance', armed: Armed) => {
    const dying = await fleet.worker(armed)
    const id = await sendTo(world, entryId, kind)
    nudge(fleet.db)
    expect((await ending(dying)).signal).toBe('SIGKILL')
    await fleet.worker()
    await fleet.ended([id])
    return jobOf(fleet.db, id)
  }

  const cleanUp = async (entryId: string) => {
    const id = await sendTo(world, entryId, 'withdraw-entry', { source: 'start', target: 'destroy' })
    nudge(fleet.db)
    await fleet.ended([id])
    expect(await jobOf(fleet.db, id)).toMatchObject({ state: 'succeeded' })
    expect(await powerOf(world.from, ref)).toBe('on')
    expect(await ownedBy(world, entryId)).toEqual([])
    expect(await overlapsOf(lab)).toEqual([])
    await fleet.db`delete from entry where id = ${entryId}::uuid`
    expect(await checkInvariants(fleet.db)).toEqual([])
  }

  describe('in the background', () => {
    test.each(copyPoints)('%s: the copy is whole and nothing is left', async (armed) => {
      const entry = await placeEntry(world, ref)
      const job = await survive(entry.id, 'import-instance', armed)
      expect(job).toMatchObject({ state: 'succeeded', result: { cycle: 1, debts: 0 } })
      expect(await entryOf(fleet.db, entry.id)).toMatchObject({ state: 'idle', stage: 'final', jobId: null })
      expect(await snapshotsOf(world, ref)).toEqual([])
      expect(await effectsOf(fleet.db, job.id)).toMatchObject([{ state: 'undone' }])
      for (const { cycle } of await listEntryDisks(fleet.db, entry.id))
        expect(cycle).toMatchObject({ state: 'whole', doubt: [] })
      await cleanUp(entry.id)
    })
  })

  describe('at the cutover', () => {
    test.each(cutoverPoints)('%s: the copy is the source, and nothing is left', async (armed) => {
      const entry = await placeEntry(world, ref)
      const job = await survive(entry.id, 'cutover-instance', armed)
      expect(job).toMatchObject({ state: 'succeeded' })
      const after = await entryOf(fleet.db, entry.id)
      expect(after).toMatchObject({ state: 'worker-done', stage: 'complete' })
      expect(await differences(world, after)).toEqual([])
      expect(await powerOf(world.from, ref)).toBe('off')
      expect(await snapshotsOf(world, ref)).toEqual([])
      expect(await ownedBy(world, entry.id)).toEqual([entry.machineRef])
      expect(await eventsOfEntry(fleet.db, entry.id)).toEqual([
        'entry.cutover-begin',
        'entry.copied',
        'entry.post-begin',
        'entry.post-done',
      ])
      await cleanUp(entry.id)
    })
  })

  describe('while it undoes a cutover that failed', () => {
    test.each(['kill:before-undo', 'kill:after-undo', 'kill:before-undo@2', 'kill:after-undo@2'] as const)(
      '%s: the source runs again, and no snapshot is left',
      async (armed) => {
        const entry = await placeEntry(world, ref)
        await lab.admin('POST /lab/faults', {
          ...{ kind: 'error', call: 'write', site: 'cloud' },
          ...{ code: 'platform-permission', failure: 'refused' },
        })
        const job = await survive(entry.id, 'cutover-instance', armed)
        await lab.admin('DELETE /lab/faults')
        expect(job).toMatchObject({ state: 'failed', error: { code: 'platform-permission' } })
        expect(await powerOf(world.from, ref)).toBe('on')
        expect(await snapshotsOf(world, ref)).toEqual([])
        const states = (await effectsOf(fleet.db, job.id)).map(({ state }) => state)
        expect(new Set(states)).toEqual(new Set(['undone']))
        await cleanUp(entry.id)
      },
    )
  })
})

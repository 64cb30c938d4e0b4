import { beforeAll, expect, test } from 'vitest'
import { nudge } from '../../src/ledger/jobs/nudge.ts'
import { cleanUp, createFleetWorld, ownedBy, survive } from '../support/entry-fleet.ts'
import {
  differences,
  type EntryWorld,
  entryOf,
  eventsOfEntry,
  placeEntry,
  powerOf,
  sendTo,
  snapshotsOf,
} from '../support/entry-world.ts'
import { type Armed, onEachFleet } from '../support/fleet.ts'
import { createLab } from '../support/lab.ts'
import { effectsOf, stateOf } from '../support/ledger.ts'
import { requestCancel } from '../support/ledger-verbs.ts'
import { until } from '../support/wait.ts'

const lab = await createLab()
const ref = 'vm-103'

/** The first effect is the power-off, the second the snapshot, the third the fitting. */
const points: readonly Armed[] = [
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
/** The first to be undone is the snapshot, the second the power-off. */
const undoPoints: readonly Armed[] = [
  'kill:before-undo',
  'kill:after-undo',
  'kill:before-undo@2',
  'kill:after-undo@2',
]

await onEachFleet('kill -9 of a worker that cuts a machine over', { workers: 0, anyBell: true }, (fleet) => {
  let world: EntryWorld
  beforeAll(async () => {
    world = await createFleetWorld(fleet, lab)
  })

  test.each(fleet.share(points))('at %s: the copy is the source, and nothing is left', async (armed) => {
    const entry = await placeEntry(world, ref)
    const job = await survive(fleet, world, { entryId: entry.id, kind: 'cutover-instance', armed })
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
    await cleanUp(fleet, world, { id: entry.id, ref })
  })

  test.each(fleet.share(undoPoints))(
    'at %s of a failed one: the source runs again, without a snapshot',
    async (armed) => {
      const entry = await placeEntry(world, ref)
      await lab.admin('POST /lab/faults', {
        ...{ kind: 'error', call: 'write', site: 'cloud' },
        ...{ code: 'platform-permission', failure: 'refused' },
      })
      const job = await survive(fleet, world, { entryId: entry.id, kind: 'cutover-instance', armed })
      await lab.admin('DELETE /lab/faults')
      expect(job).toMatchObject({ state: 'failed', error: { code: 'platform-permission' } })
      expect(await powerOf(world.from, ref)).toBe('on')
      expect(await snapshotsOf(world, ref)).toEqual([])
      const states = (await effectsOf(fleet.db, job.id)).map(({ state }) => state)
      expect(new Set(states)).toEqual(new Set(['undone']))
      await cleanUp(fleet, world, { id: entry.id, ref })
    },
  )

  test('one that is called off in the middle of a read lets go, and its source runs again', async () => {
    const entry = await placeEntry(world, ref)
    await fleet.worker()
    await lab.admin('POST /lab/faults', { kind: 'stall', call: 'read', site: 'vcenter', skip: 1 })
    const id = await sendTo(world, entry.id, 'cutover-instance')
    nudge(fleet.db)
    await until(
      async () => {
        const { json } = await lab.admin('GET /lab/faults')
        return (json as { faults: { struck: number }[] }).faults.some(({ struck }) => struck > 0)
      },
      { what: 'a read to stall', withinMs: 60_000 },
    )
    await requestCancel(fleet.db, id, { by: 'test', reason: 'called off' })
    // A read that stalls would be waited for longer than this.
    await fleet.ended([id])
    await lab.admin('DELETE /lab/faults')
    expect(await stateOf(fleet.db, id)).toBe('canceled')
    expect(await powerOf(world.from, ref)).toBe('on')
    expect(await snapshotsOf(world, ref)).toEqual([])
    await cleanUp(fleet, world, { id: entry.id, ref })
  })
})

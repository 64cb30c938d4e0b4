import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import type { CrashPoint } from '../../src/crash-point.ts'
import { createSealer } from '../../src/seal/seal.ts'
import { createEntryWorld, type EntryWorld, entryOf } from '../support/entry-world.ts'
import { ending, type Fleet, onEachFleet } from '../support/fleet.ts'
import { checkInvariants } from '../support/invariants.ts'
import { createLab } from '../support/lab.ts'
import { effectsOf, stateOf } from '../support/ledger.ts'
import { requestCancel } from '../support/ledger-verbs.ts'
import {
  addMachine,
  fittingScript,
  isThere,
  oursOf,
  sendPlace,
  setBatch,
  waitingEntry,
} from '../support/placing.ts'
import { until } from '../support/wait.ts'

/** The key of the fleet's processes. */
const sealer = createSealer('5e'.repeat(32))
const lab = await createLab()

/** What is awaited is done by processes, on a machine that may do much else. */
const withinMs = 60_000

/** A batch that is stopped: nothing but the job that the test sends is done for its entries. */
const createWorld = async (fleet: Fleet): Promise<EntryWorld> => {
  await lab.admin('DELETE /lab/faults')
  // Identities of machines that are no more would make duplicates of the new ones, which block.
  for (const table of [
    'entry',
    'entry_disk',
    'batch',
    'finding',
    'instance_identity',
    'instance',
    'network',
    'site',
  ])
    await fleet.db`delete from ${fleet.db(table)}`
  const world = await createEntryWorld(fleet.db, lab, { sealer, name: `-${uuidv7().slice(-8)}` })
  await setBatch(world, { config: { placement_scriptlet: fittingScript } })
  await fleet.db`update batch set state = 'stopped' where id = ${world.batch.id}::uuid`
  return world
}

/** Exactly one machine, and it is the one that the entry counts on; then room is made for the next test. */
const expectOne = async (world: EntryWorld, entryId: string, jobId: string) => {
  expect(await stateOf(world.db, jobId)).toBe('succeeded')
  const entry = await entryOf(world.db, entryId)
  expect(entry).toMatchObject({ state: 'idle', stage: 'background', jobId: null })
  expect(await oursOf(world, entryId)).toEqual([entry.machineRef])
  expect(await effectsOf(world.db, jobId)).toHaveLength(1)
  expect(await checkInvariants(world.db)).toEqual([])
  await world.to.done(`DELETE /instances/${entry.machineRef}`)
}

const isFree = async (fleet: Fleet, entryId: string): Promise<boolean> =>
  (await entryOf(fleet.db, entryId)).jobId === null

const points: readonly CrashPoint[] = [
  'before-intent',
  'mid-intent',
  'after-intent',
  'before-effect',
  'after-effect',
  'before-finish',
  'after-finish',
]

const describeCancel = (fleet: Fleet) => {
  test.each(fleet.share(['after-effect', 'before-finish'] as const))(
    'killed at %s and cancelled then: no machine of ours is left, and a stranger keeps his',
    async (point) => {
      const world = await createWorld(fleet)
      const stranger = await addMachine(world, { name: `stranger-${uuidv7()}` })
      const id = await waitingEntry(world, 'vm-104')
      const armed = await fleet.worker(`kill:${point}`)
      const jobId = await sendPlace(world, id)
      expect((await ending(armed)).signal).toBe('SIGKILL')
      expect(await oursOf(world, id)).toHaveLength(1)
      await requestCancel(fleet.db, jobId, { by: 'test', reason: 'called off' })
      await fleet.worker()
      await fleet.ended([jobId])
      await until(async () => (await oursOf(world, id)).length === 0, {
        what: 'the machine to be taken away',
        withinMs,
      })
      expect(await stateOf(fleet.db, jobId)).toBe('canceled')
      // The scheduler sends somebody to look whether anything was left; that is over, too, before the next test.
      await until(
        async () => (await entryOf(fleet.db, id)).state === 'waiting' && (await isFree(fleet, id)),
        {
          what: 'the entry to wait again',
          withinMs,
        },
      )
      expect(await oursOf(world, id)).toEqual([])
      expect(await isThere(world, stranger)).toBe(true)
      expect(await checkInvariants(fleet.db)).toEqual([])
    },
  )
}

await onEachFleet('kill -9 of a worker that places', { workers: 0, anyBell: true }, (fleet) => {
  test.each(fleet.share(points))('at %s: one machine, recorded', async (point) => {
    const world = await createWorld(fleet)
    const id = await waitingEntry(world, 'vm-101')
    const armed = await fleet.worker(`kill:${point}`)
    const jobId = await sendPlace(world, id)
    expect((await ending(armed)).signal).toBe('SIGKILL')
    await fleet.worker()
    await fleet.ended([jobId])
    await expectOne(world, id, jobId)
  })

  test('while the target makes the machine, and the answer never comes: one machine', async () => {
    const world = await createWorld(fleet)
    const id = await waitingEntry(world, 'vm-102')
    await lab.admin('POST /lab/faults', { kind: 'stall', call: 'create', after: true, times: 1 })
    const first = await fleet.worker()
    const jobId = await sendPlace(world, id)
    await until(async () => (await oursOf(world, id)).length === 1, {
      what: 'the machine to be made',
      withinMs,
    })
    await first.crash()
    await lab.admin('DELETE /lab/faults')
    await fleet.worker()
    await fleet.ended([jobId])
    await expectOne(world, id, jobId)
  })

  test.each(fleet.share(['before-effect', 'after-effect'] as const))(
    'a worker that froze at %s wakes up beside the next one: one machine',
    async (point) => {
      const world = await createWorld(fleet)
      const id = await waitingEntry(world, 'vm-103')
      const frozen = await fleet.worker(`stop:${point}`)
      const jobId = await sendPlace(world, id)
      // It fell silent with the job in its hands: whoever comes next is not the first.
      await frozen.frozen()
      expect(await effectsOf(fleet.db, jobId)).toHaveLength(1)
      await fleet.worker()
      await fleet.ended([jobId])
      frozen.resume()
      await frozen.line('the outcome was refused', { withinMs: 60_000 })
      await expectOne(world, id, jobId)
    },
  )

  describeCancel(fleet)
})

import { type Change, toDate } from '../model/context.ts'
import { absent, refuse } from '../model/refusal.ts'
import { freezeDisk, listDisks, lockDisk, releaseLayer, rewindDisk } from '../store/disks.ts'
import { type Machine, saveMachine } from '../store/machines.ts'
import { newRef } from '../store/sites.ts'
import {
  addFrozenDisk,
  addSnapshot,
  dropSnapshot,
  frozenDisks,
  getSnapshot,
  listSnapshots,
  type Snapshot,
} from '../store/snapshots.ts'
import { isInSnapshots } from './disk-attachment.ts'
import { guestWrites } from './guest-load.ts'
import { counterAt, powerDown } from './power.ts'
import { present } from './power-tasks.ts'
import { showTracking } from './show-tracking.ts'
import type { TaskKind } from './tasks.ts'

const snapshotsMax = 32

/** The listing's own picture of the machine's snapshots and tracking. */
const show = async (change: Change, machine: Machine): Promise<void> => {
  const snapshots = await listSnapshots(change.tx, change.site, machine.ref)
  machine.facts = {
    ...machine.facts,
    snapshots: snapshots.map(({ ref, name, parent, memory, createdAt }) => ({
      ref,
      name,
      parent,
      memory,
      created_at: createdAt.toISOString(),
    })),
  }
  await showTracking(change, machine)
  await saveMachine(change, machine)
}

const createSnapshot: TaskKind = {
  takesMs: 700,
  begin: async (change, found, args) => {
    const machine = present(found)
    if ((await listSnapshots(change.tx, change.site, machine.ref)).length >= snapshotsMax)
      throw refuse(
        'platform-refused',
        `A machine has at most ${snapshotsMax} snapshots.`,
        'Remove one first.',
      )
    if (args.quiesce === true && machine.power === 'on' && machine.guest?.agent !== 'running')
      throw refuse(
        'platform-refused',
        `No agent in "${machine.name}" could quiesce it.`,
        'Ask without quiesce.',
      )
    return { args: { ref: await newRef(change, 'snapshot') } }
  },
  apply: async (change, found, task) => {
    const machine = present(found)
    const { ref, name, memory } = task.args as { ref: string; name: string; memory: boolean }
    await guestWrites(change, machine)
    await addSnapshot(change, {
      ref,
      machine: machine.ref,
      name,
      parent: machine.snapshot,
      createdAt: toDate(change.at),
      memory: memory && machine.power === 'on',
      counter: memory ? counterAt(machine, change.at) : null,
      bootId: machine.bootId,
    })
    for (const { key } of await listDisks(change.tx, change.site, machine.ref)) {
      if (!isInSnapshots(machine, key)) continue
      const disk = await lockDisk(change.tx, change.site, machine.ref, key)
      const layer = await freezeDisk(change.tx, disk)
      await addFrozenDisk(change, ref, { ...disk, layer })
    }
    machine.snapshot = ref
    await show(change, machine)
    return ref
  },
}

const needsSnapshot = async (change: Change, machine: Machine, ref: unknown): Promise<Snapshot> => {
  const snapshot = await getSnapshot(change.tx, change.site, machine.ref, String(ref))
  if (!snapshot) throw absent(`snapshot "${String(ref).slice(0, 100)}" of machine "${machine.ref}"`)
  return snapshot
}

/** Back to how it was; a machine that runs is off afterwards: no memory is brought back. */
const revert: TaskKind = {
  takesMs: 900,
  begin: async (change, found, args) => {
    await needsSnapshot(change, present(found), args.snapshot)
    return {}
  },
  apply: async (change, found, task) => {
    const machine = present(found)
    const snapshot = await needsSnapshot(change, machine, task.args.snapshot)
    if (machine.power !== 'off') await powerDown(change, machine, 'off')
    for (const frozen of await frozenDisks(change.tx, change.site, snapshot.ref)) {
      const disk = await lockDisk(change.tx, change.site, machine.ref, frozen.key)
      await rewindDisk(change.tx, disk, frozen)
    }
    machine.snapshot = snapshot.ref
    await show(change, machine)
    return snapshot.ref
  },
}

const removeSnapshot: TaskKind = {
  takesMs: 800,
  begin: async (change, found, args) => {
    await needsSnapshot(change, present(found), args.snapshot)
    return {}
  },
  apply: async (change, found, task) => {
    const machine = present(found)
    const snapshot = await needsSnapshot(change, machine, task.args.snapshot)
    // Held first, so that a write that is under way is not folded over.
    for (const { key } of await listDisks(change.tx, change.site, machine.ref))
      await lockDisk(change.tx, change.site, machine.ref, key)
    const frozen = await frozenDisks(change.tx, change.site, snapshot.ref)
    await dropSnapshot(change, snapshot)
    for (const { layer } of frozen) await releaseLayer(change.tx, layer)
    if (machine.snapshot === snapshot.ref) machine.snapshot = snapshot.parent
    await show(change, machine)
    return null
  },
}

export const snapshotKinds: Readonly<Record<string, TaskKind>> = {
  'snapshot-create': createSnapshot,
  'snapshot-revert': revert,
  'snapshot-remove': removeSnapshot,
}

import { createHash } from 'node:crypto'
import type { Change } from '../model/context.ts'
import { toDate } from '../model/context.ts'
import { refuse } from '../model/refusal.ts'
import { listDisks } from '../store/disks.ts'
import type { Machine } from '../store/machines.ts'
import { addSaved, type Epochs, getSaved } from '../store/saved.ts'
import { newRef } from '../store/sites.ts'
import { guestWrites } from './guest-load.ts'
import { memoryImage } from './memory-image.ts'
import { chooseHost, counterAt, needsState, powerDown, powerOn } from './power.ts'
import { present } from './power-tasks.ts'
import { checkReachable, type TaskKind } from './tasks.ts'

const diskEpochs = async (change: Change, machine: Machine): Promise<Epochs> =>
  Object.fromEntries(
    (await listDisks(change.tx, change.site, machine.ref)).map(({ key, epoch }) => [key, epoch]),
  )

export const digestOf = (content: Buffer): string =>
  `sha256:${createHash('sha256').update(content).digest('hex')}`

const save: TaskKind = {
  takesMs: 1_500,
  begin: async (change, found) => {
    const machine = present(found)
    needsState(machine, ['on'], 'be saved')
    if (machine.guest === null) throw refuse('platform-refused', `Nothing runs in "${machine.name}".`)
    return { args: { ref: await newRef(change, 'state') } }
  },
  apply: async (change, found, task) => {
    const machine = present(found)
    needsState(machine, ['on'], 'be saved')
    await guestWrites(change, machine)
    const counter = counterAt(machine, change.at) ?? 0
    const { bootId, guest } = machine
    const content = memoryImage({ machine: machine.ref, uuid: machine.uuid, bootId, counter })
    const ref = String(task.args.ref)
    await addSaved(change, {
      ref,
      machine: machine.ref,
      bootId,
      counter,
      guest,
      epochs: await diskEpochs(change, machine),
      digest: digestOf(content),
      content,
      createdAt: toDate(change.at),
    })
    await powerDown(change, machine, 'off')
    return ref
  },
}

/** Memory fits only the disks that it was saved with, and only a machine that is off. */
const restore: TaskKind = {
  takesMs: 1_500,
  begin: async (change, found, args) => {
    const machine = present(found)
    await fitting(change, machine, String(args.state))
    const load = await chooseHost(change, machine, String(args.host))
    return { args: { host: load.host.ref } }
  },
  apply: async (change, found, task) => {
    const machine = present(found)
    const state = await fitting(change, machine, String(task.args.state))
    const host = String(task.args.host)
    await checkReachable(change, { ...machine, host })
    await powerOn(change, machine, { host, wake: state })
    return machine.ref
  },
}

const fitting = async (change: Change, machine: Machine, ref: string) => {
  needsState(machine, ['off'], 'wake')
  const state = await getSaved(change.tx, change.site, ref)
  if (digestOf(state.content) !== state.digest)
    throw refuse('platform-refused', `The saved state "${ref}" is damaged.`, 'Start the machine cold.')
  const epochs = await diskEpochs(change, machine)
  const changed = Object.keys({ ...epochs, ...state.epochs }).filter(
    (key) => epochs[key] !== state.epochs[key],
  )
  if (changed.length > 0)
    throw refuse(
      'platform-refused',
      `Disk "${changed[0]}" was written since that memory was saved: waking would tear it.`,
      'Start the machine cold.',
    )
  return state
}

export const hibernateKinds: Readonly<Record<string, TaskKind>> = { save, restore }

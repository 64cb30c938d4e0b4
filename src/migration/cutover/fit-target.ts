import { createHash } from 'node:crypto'
import { DroverError } from '../../errors.ts'
import { finishTask } from '../../ledger/platform-task.ts'
import type { MachineChange, NewNic } from '../../platforms/ports/machines.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import { type CopyTask, callOf, targetOf, taskMs } from '../copy/copy-task.ts'
import { type EntryWork, placementOf } from '../entry/entry-work.ts'
import { isOwn } from '../target/own-target.ts'

/**
 * Makes the copy what the source was: its size and identity, and its cards on the networks where they land instead
 * of the one that it was copied on.
 */
export const fitTarget = async (task: CopyTask): Promise<void> => {
  const { ctx, target, entry } = task.entryWork
  const { platform, ref } = targetOf(task)
  const machines = portOf(platform, 'machines')
  const own = { entryId: entry.id, machineRef: ref }
  const change = fitted(task.entryWork)
  if (!(await isOwn(platform, callOf(task, `${ctx.job.id}/fit`, taskMs), own))) throw notOurs(ref)
  await finishTask(ctx, {
    // Of what it is fitted to: a task that was asked for by another record says nothing of this one.
    part: `fit-${digestOf(change)}`,
    kind: 'target-fit',
    undo: null,
    platform: target?.name ?? '',
    tasks: machines,
    machine: ref,
    verb: 'reconfigure',
    turnMs: taskMs,
    sentAgain: true,
    begin: (call) => machines.reconfigure(call, ref, change),
    // Done again it changes nothing.
    made: async () => ({ found: false }),
  })
}

const digestOf = (change: MachineChange): string =>
  createHash('sha256').update(JSON.stringify(change)).digest('hex').slice(0, 16)

const fitted = (entryWork: EntryWork): MachineChange => {
  const { cpus, memory, uuid, description, attributes } = entryWork.facts
  return {
    cpus,
    memory,
    ...(uuid === '' ? {} : { uuid }),
    description,
    attributes,
    nics: finalNics(entryWork),
  }
}

const finalNics = (entryWork: EntryWork): NewNic[] => {
  const { networks } = placementOf(entryWork)
  return entryWork.facts.nics.map(({ mac }) => {
    const place = Object.hasOwn(networks, mac) ? networks[mac] : undefined
    if (!place) throw unplaced(mac)
    return { mac, network: place.network, type: place.nictype, vlan: place.vlan_id }
  })
}

const unplaced = (mac: string): DroverError =>
  new DroverError({
    code: 'nic-without-place',
    class: 'conflict',
    message: `The network card ${mac} has no network on the target.`,
    remedy: 'Say where its network lands, then retry the entry.',
    detail: { mac },
  })

const notOurs = (ref: string): DroverError =>
  new DroverError({
    code: 'target-not-ours',
    class: 'conflict',
    message: `The machine ${ref} of the target is gone, or not the one that was made for this entry.`,
    remedy:
      'Look at the target, then cancel the entry with cleanup and retry it: its machine is made and copied anew.',
    detail: { ref },
  })

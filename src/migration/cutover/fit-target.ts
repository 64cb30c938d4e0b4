import { createHash } from 'node:crypto'
import { taskName } from '../../domain/job/task-step.ts'
import { DroverError } from '../../errors.ts'
import { awaitTaskOf } from '../../ledger/ended-task.ts'
import { findEarlierEffects } from '../../ledger/older-tasks.ts'
import { finishTask } from '../../ledger/platform-task.ts'
import { readTask } from '../../ledger/task-record.ts'
import type { MachineChange, NewNic } from '../../platforms/ports/machines.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import { type CopyTask, callOf, targetOf, taskMs } from '../copy/copy-task.ts'
import { type EntryWork, placementOf } from '../entry/entry-work.ts'
import { requireOwn } from '../target/own-target.ts'

const targetFitKind = 'target-fit'

/**
 * Gives the copy the size and the identity of the source, and the NICs of its placement instead of the NIC that it was
 * copied with.
 */
export const fitTarget = async (task: CopyTask): Promise<void> => {
  const { ctx, target, entry } = task.entryWork
  const { platform, ref } = targetOf(task)
  const machines = portOf(platform, 'machines')
  const change = fitted(task.entryWork)
  // Named by what the machine is fitted to: a task for another record proves nothing for this one.
  const part = `fit-${digestOf(change)}`
  if (readTask(ctx, part)?.ended) return
  const call = callOf(task, `${ctx.job.id}/fit`, taskMs)
  await requireOwn(platform, call, { entryId: entry.id, machineRef: ref })
  for (const effect of await findEarlierEffects(ctx, targetFitKind)) {
    if (effect.name.startsWith(taskName(ctx.job.id, part, 0))) continue
    // The task may belong to another record and would undo this one, so it must end first.
    await awaitTaskOf(machines, call, { effect, machine: ref, verb: 'reconfigure' })
  }
  await finishTask(ctx, {
    part,
    kind: targetFitKind,
    undo: null,
    platform: target?.name ?? '',
    tasks: machines,
    machine: ref,
    verb: 'reconfigure',
    turnMs: taskMs,
    sentAgain: true,
    begin: (named) => machines.reconfigure(named, ref, change),
    // Repeating it changes nothing.
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

import { DroverError } from '../errors.ts'
import { again } from '../platforms/again.ts'
import type { MachineChange, NewNic } from '../platforms/ports/machines.ts'
import { portOf } from '../platforms/ports.ts'
import { type CopyTask, callOf, targetOf, taskMs } from './copy/copy-task.ts'
import { type Journey, placementOf } from './journey.ts'
import { isOwn } from './own-target.ts'

/**
 * Makes the copy what the source was: its size and identity, and its cards on the networks where they land instead
 * of the one that it was copied on.
 */
export const fitTarget = async (task: CopyTask): Promise<void> => {
  const { ctx, target, entry } = task.journey
  const { platform, name: of, ref } = targetOf(task)
  const name = `${ctx.job.id}/fit`
  // Repeated, it changes nothing; begun anew by each try, as one that failed would be remembered under its name.
  const call = callOf(task, `${name}/${ctx.job.leaseEpoch}`, taskMs)
  if (!(await isOwn(platform, call, { entryId: entry.id, machineRef: ref }))) throw notOurs(ref)
  await ctx.effect({
    kind: 'target-fit',
    platform: target?.name ?? '',
    name,
    undo: null,
    observe: async () => ({ found: false }),
    act: async () => {
      const machines = portOf(platform, 'machines')
      const handle = await again(call.signal, () => machines.reconfigure(call, ref, fitted(task.journey)), {
        of,
      })
      await handle.wait(call)
      return { externalId: handle.id }
    },
  })
}

const fitted = (journey: Journey): MachineChange => {
  const { cpus, memory, uuid, description, attributes } = journey.facts
  return {
    cpus,
    memory,
    ...(uuid === '' ? {} : { uuid }),
    description,
    attributes,
    nics: finalNics(journey),
  }
}

const finalNics = (journey: Journey): NewNic[] => {
  const { networks } = placementOf(journey)
  return journey.facts.nics.map(({ mac }) => {
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

import type { MachineChangeRequest, NewMachineRequest } from '../../platforms/lab/protocol.ts'
import { type Change, newId } from '../model/context.ts'
import { wrongState } from '../model/refusal.ts'
import { freezeDisk, listDisks, lockDisk, releaseLayer, removeDisks, setTracking } from '../store/disks.ts'
import { type Machine, removeBelongings, removeMachine, saveMachine } from '../store/machines.ts'
import { logPower } from '../store/power-log.ts'
import { newRef } from '../store/sites.ts'
import { layersOfSnapshots } from '../store/snapshots.ts'
import { guestWrites } from './guest-load.ts'
import { homeOf, nicFacts, refuseTakenName, specOf } from './machine-request.ts'
import { addMachine, type MachineSpec } from './machine-spec.ts'
import { present } from './power-tasks.ts'
import { showTracking } from './show-tracking.ts'
import type { TaskKind } from './tasks.ts'

const create: TaskKind = {
  takesMs: 1_500,
  begin: async (change, _machine, args) => {
    const ref = await newRef(change, 'vm')
    await specOf(change, args as unknown as NewMachineRequest, ref)
    return { machine: ref }
  },
  apply: async (change, _machine, task) => {
    const spec = await specOf(change, task.args as unknown as NewMachineRequest, task.machine)
    await addMachine(change, spec)
    return task.machine
  },
}

const rename: TaskKind = {
  takesMs: 300,
  begin: async (change, found, args) => {
    const machine = present(found)
    await refuseTakenName(change, { ...machine, name: String(args.name), except: machine.ref })
    return {}
  },
  apply: async (change, found, task) => {
    const machine = present(found)
    const name = String(task.args.name)
    await refuseTakenName(change, { ...machine, name, except: machine.ref })
    machine.name = name
    machine.location = `${machine.folder}/${name}`
    await saveMachine(change, machine)
    return machine.ref
  },
}

const reconfigure: TaskKind = {
  takesMs: 400,
  begin: async (change, found, args) => {
    const request = args as MachineChangeRequest
    if (present(found).power === 'on' && (request.cpus !== undefined || request.memory !== undefined))
      throw wrongState('CPUs and memory are changed while the machine is off.')
    if (present(found).power === 'on' && request.uuid !== undefined)
      throw wrongState('The UUID is changed while the machine is off.')
    if (request.nics) await nicFacts(change, request.nics, present(found).project)
    return {}
  },
  apply: async (change, found, task) => {
    const machine = present(found)
    const { nics, uuid, change_tracking, cpus, memory, ...rest } = task.args as MachineChangeRequest
    machine.cpus = cpus ?? machine.cpus
    machine.memory = memory ?? machine.memory
    machine.uuid = uuid?.toLowerCase() ?? machine.uuid
    machine.facts = {
      ...machine.facts,
      description: rest.description ?? machine.facts.description,
      attributes: { ...machine.facts.attributes, ...rest.attributes },
      nics: nics ? await nicFacts(change, nics, machine.project) : machine.facts.nics,
      background_import: change_tracking ?? machine.facts.background_import,
    }
    if (change_tracking !== undefined) {
      await setTracking(change.tx, change.site, machine.ref, change_tracking)
      await showTracking(change, machine)
    }
    await saveMachine(change, machine)
    // From here on it runs with other cards or as somebody else: a new stretch of its log.
    if (machine.power === 'on' && nics) await logPower(change, machine)
    return machine.ref
  },
}

const clone: TaskKind = {
  takesMs: 2_500,
  begin: async (change, found, args) => {
    const machine = present(found)
    const { folder } = await homeOf(change, { folder: String(args.folder || machine.folder), host: '' })
    await refuseTakenName(change, { ...machine, folder, name: String(args.name), except: '' })
    return { args: { folder, ref: await newRef(change, 'vm') } }
  },
  apply: async (change, found, task) => {
    const machine = present(found)
    const { name, folder, ref, owner } = task.args as Record<'name' | 'folder' | 'ref', string> & {
      owner: Record<string, string>
    }
    await refuseTakenName(change, { ...machine, folder, name, except: '' })
    await guestWrites(change, machine)
    await addMachine(change, await cloneSpec(change, machine, { ref, name, folder, owner }))
    return ref
  },
}

/** The copy shares what the origin's disks hold now; both go on in layers of their own. */
const cloneSpec = async (
  change: Change,
  origin: Machine,
  as: { ref: string; name: string; folder: string; owner: Record<string, string> },
): Promise<MachineSpec> => {
  const disks: MachineSpec['disks'][number][] = []
  for (const { key } of await listDisks(change.tx, change.site, origin.ref)) {
    const disk = await lockDisk(change.tx, change.site, origin.ref, key)
    const facts = origin.facts.disks.find((candidate) => candidate.key === key)
    const base = { layer: await freezeDisk(change.tx, disk), allocated: disk.allocated }
    // Its own file, or two machines would show one disk.
    const name = `[${facts?.datastore ?? disk.storage}] ${as.name}/${key}`
    disks.push({ ...disk, base, ...(facts ? { facts: { ...facts, name, change_id: null } } : {}) })
  }
  const uuid = newId()
  return {
    ...origin,
    ...as,
    host: '',
    uuid,
    power: 'off',
    template: false,
    nics: origin.facts.nics.map((nic, index) => ({ ...nic, mac: newMac(uuid, index) })),
    disks,
    devices: origin.facts.devices,
    tracked: false,
    facts: { ...settingsOf(origin), bios_uuid: uuid },
    traits: {},
  }
}

/** What a copy takes over: how the machine is built, not what became of it. */
const settingsOf = ({ facts }: Machine) => ({
  os: facts.os,
  os_description: facts.os_description,
  os_template: facts.os_template,
  description: facts.description,
  architecture: facts.architecture,
  legacy_boot: facts.legacy_boot,
  secure_boot: facts.secure_boot,
  tpm: facts.tpm,
  hardware_version: facts.hardware_version,
  attributes: facts.attributes,
})

const newMac = (uuid: string, index: number): string =>
  [
    '02',
    uuid.slice(0, 2),
    uuid.slice(2, 4),
    uuid.slice(4, 6),
    uuid.slice(6, 8),
    (index & 255).toString(16).padStart(2, '0'),
  ].join(':')

const destroy: TaskKind = {
  takesMs: 600,
  begin: async (_change, machine) => {
    if (present(machine).power !== 'off')
      throw wrongState(`"${present(machine).name}" is ${present(machine).power}.`)
    return {}
  },
  apply: async (change, found) => {
    const machine = present(found)
    if (machine.power !== 'off') throw wrongState(`"${machine.name}" is ${machine.power}.`)
    await wipe(change, machine)
    return null
  },
}

/** Takes the machine away with everything it has. */
export const wipe = async (change: Change, machine: Machine): Promise<void> => {
  const layers = await layersOfSnapshots(change.tx, change.site, machine.ref)
  await removeBelongings(change, machine.ref)
  await removeDisks(change.tx, change.site, machine.ref)
  for (const layer of layers) await releaseLayer(change.tx, layer)
  await removeMachine(change, machine.ref)
}

export const machineKinds: Readonly<Record<string, TaskKind>> = {
  create,
  rename,
  reconfigure,
  clone,
  destroy,
}

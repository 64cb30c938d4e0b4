import type { NicFacts, ProjectFacts } from '../domain/inventory/facts.ts'
import type { MachineChangeRequest, NewMachineRequest, WireNic } from '../platforms/lab/protocol.ts'
import { type Change, newId } from './context.ts'
import { guestWrites } from './guest-load.ts'
import { addMachine, type MachineSpec } from './machine-spec.ts'
import { present } from './power-tasks.ts'
import { invalid, refuse, wrongState } from './refusal.ts'
import { freezeDisk, listDisks, lockDisk, releaseLayer, removeDisks, setTracking } from './store/disks.ts'
import { findEntity, listEntities, projectUse } from './store/entities.ts'
import { type Machine, nameTaken, removeMachine, saveMachine } from './store/machines.ts'
import { logPower } from './store/power-log.ts'
import { newRef } from './store/sites.ts'
import { layersOfSnapshots } from './store/snapshots.ts'
import type { TaskKind } from './tasks.ts'

/** Where a machine goes whose maker named no folder. */
export const homeOf = async (
  change: Pick<Change, 'tx' | 'site'>,
  asked: { folder: string; host: string },
): Promise<{ folder: string; datacenter: string; cluster: string; host: string }> => {
  const hosts = await listEntities<{ datacenter: string; cluster: string }>(change.tx, change.site, 'host')
  const host = hosts.find(({ ref, name }) => ref === asked.host || name === asked.host)
  if (asked.host !== '' && !host)
    throw refuse('platform-absent', `There is no host "${asked.host.slice(0, 100)}".`)
  const like = host ?? hosts[0]
  const datacenter = like?.data.datacenter ?? change.site
  return {
    datacenter,
    cluster: like?.data.cluster ?? '',
    host: host?.ref ?? '',
    folder: asked.folder === '' ? `/${datacenter}/vm` : `/${asked.folder.replace(/^\/+|\/+$/g, '')}`,
  }
}

export const refuseTakenName = async (
  change: Pick<Change, 'tx'>,
  at: { site: string; folder: string; project: string; name: string; except: string },
): Promise<void> => {
  if (!(await nameTaken(change.tx, at))) return
  throw refuse(
    'platform-name-taken',
    `"${at.name.slice(0, 100)}" is taken in ${at.folder || 'that project'}.`,
    'Choose another name, or rename the other machine first.',
  )
}

/** Nics as they were asked for, on networks that exist. */
export const nicFacts = async (
  change: Pick<Change, 'tx' | 'site'>,
  nics: readonly WireNic[],
): Promise<NicFacts[]> =>
  await Promise.all(
    nics.map(async (nic, index) => {
      const network = await findEntity(change.tx, change.site, { type: 'network', ref: nic.network })
      if (!network) throw refuse('platform-absent', `There is no network "${nic.network.slice(0, 100)}".`)
      return {
        key: String(4_000 + index),
        label: `Network adapter ${index + 1}`,
        mac: nic.mac.toLowerCase(),
        connected: nic.connected ?? true,
        network_ref: network.ref,
        network: network.name,
        type: nic.type,
        ipv4_addresses: [],
        ipv6_addresses: [],
      }
    }),
  )

const checkProject = async (
  change: Pick<Change, 'tx' | 'site'>,
  wanted: { project: string; cpus: number; memory: number; disk: number },
): Promise<string> => {
  if (wanted.project === '') return ''
  const project = await findEntity<ProjectFacts>(change.tx, change.site, {
    type: 'project',
    ref: wanted.project,
  })
  if (!project) throw refuse('platform-absent', `There is no project "${wanted.project.slice(0, 100)}".`)
  const used = (await projectUse(change.tx, change.site)).get(project.ref) ?? {}
  const { cpus, memory, disk } = wanted
  const more: Record<string, number> = { instances: 1, cpus, memory, disk }
  for (const [name, limit] of Object.entries(project.data.limits)) {
    if ((used[name] ?? 0) + (more[name] ?? 0) > limit)
      throw refuse(
        'platform-no-capacity',
        `Project "${project.name}" would go over its limit of ${limit} for ${name}.`,
        'Raise the limit, or make room in the project.',
      )
  }
  return project.ref
}

const requestedDisks = async (
  change: Pick<Change, 'tx' | 'site'>,
  request: Pick<NewMachineRequest, 'disks'>,
) =>
  await Promise.all(
    request.disks.map(async ({ key, capacity, pool }) => {
      const storage = await findEntity(change.tx, change.site, { type: 'storage', ref: pool })
      if (!storage) throw refuse('platform-absent', `There is no storage "${pool.slice(0, 100)}".`)
      if (storage.trouble.full) throw refuse('platform-no-capacity', `Storage "${storage.name}" is full.`)
      const profile = { data: [], random: 0, boot: null }
      return { key, capacity, storage: storage.ref, thin: true, seed: 0, profile }
    }),
  )

export const specOf = async (
  change: Pick<Change, 'tx' | 'site'>,
  request: NewMachineRequest,
  ref: string,
): Promise<MachineSpec> => {
  const home = await homeOf(change, request)
  const disks = await requestedDisks(change, request)
  if (new Set(disks.map(({ key }) => key)).size < disks.length) throw invalid('Two disks have the same key.')
  const disk = disks.reduce((sum, { capacity }) => sum + capacity, 0)
  const project = await checkProject(change, { ...request, disk })
  await refuseTakenName(change, {
    site: change.site,
    folder: home.folder,
    project,
    name: request.name,
    except: ref,
  })
  return {
    ...home,
    ref,
    name: request.name,
    uuid: request.uuid.toLowerCase(),
    project,
    cpus: request.cpus,
    memory: request.memory,
    power: 'off',
    template: false,
    complete: true,
    nics: await nicFacts(change, request.nics),
    disks,
    devices: [],
    owner: request.owner,
    tracked: false,
    facts: { legacy_boot: request.legacy_boot, secure_boot: request.secure_boot },
  }
}

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
    if (request.nics) await nicFacts(change, request.nics)
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
      nics: nics ? await nicFacts(change, nics) : machine.facts.nics,
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

/** A listing shows where tracking stood at the last change of the machine, as hypervisors do. */
export const showTracking = async (change: Pick<Change, 'tx' | 'site'>, machine: Machine): Promise<void> => {
  const disks = new Map(
    (await listDisks(change.tx, change.site, machine.ref)).map((disk) => [disk.key, disk]),
  )
  machine.facts = {
    ...machine.facts,
    disks: machine.facts.disks.map((facts) => {
      const disk = disks.get(facts.key)
      if (!disk) return facts
      return {
        ...facts,
        used: disk.allocated,
        change_id: disk.tracking === null ? null : `${disk.tracking}/${disk.epoch}`,
      }
    }),
  }
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
    disks.push({ ...disk, base, ...(facts ? { facts: { ...facts, change_id: null } } : {}) })
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
  await change.tx`delete from lab.snapshot where site = ${change.site} and machine = ${machine.ref}`
  await change.tx`delete from lab.saved where site = ${change.site} and machine = ${machine.ref}`
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

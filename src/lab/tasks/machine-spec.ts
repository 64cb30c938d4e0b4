import type {
  DeviceFacts,
  DiskFacts,
  InstanceFacts,
  NicFacts,
  PowerState,
} from '../../domain/inventory/facts.ts'
import { type Change, newId, toDate } from '../model/context.ts'
import { type DiskProfile, dataBytes, originalBlock, readBootRecord } from '../model/disk-content.ts'
import { addDisk } from '../store/disks.ts'
import { type Machine, type MachineTraits, saveMachine } from '../store/machines.ts'
import { logPower } from '../store/power-log.ts'
import { showTracking } from './show-tracking.ts'

export interface DiskSpec {
  readonly key: string
  readonly capacity: number
  readonly storage: string
  /** What facts call it; left out: its ref. */
  readonly storageName?: string
  readonly thin: boolean
  readonly seed: number
  readonly profile: DiskProfile
  readonly facts?: Partial<DiskFacts>
  readonly base?: { readonly layer: number; readonly allocated: number }
}

/** A machine as a world, a request or an image describes it. */
export interface MachineSpec {
  readonly ref: string
  readonly name: string
  readonly uuid: string
  readonly folder: string
  readonly datacenter: string
  readonly cluster: string
  readonly host: string
  readonly project: string
  readonly cpus: number
  readonly memory: number
  readonly power: PowerState
  readonly template: boolean
  readonly complete: boolean
  readonly nics: readonly NicFacts[]
  readonly disks: readonly DiskSpec[]
  readonly devices: readonly DeviceFacts[]
  readonly owner: Readonly<Record<string, string>>
  readonly tracked: boolean
  readonly lineage?: string
  /** Everything that the lab itself does not act on, and lies of broken worlds. */
  readonly facts?: Partial<InstanceFacts>
  readonly traits?: MachineTraits
  /** The facts as they are shown from now on, whatever becomes of the machine. */
  readonly rawFacts?: Record<string, unknown>
}

const noFacts: Omit<
  InstanceFacts,
  'ref' | 'uuid' | 'name' | 'location' | 'cpus' | 'memory' | 'nics' | 'disks' | 'devices' | 'guest'
> = {
  bios_uuid: '',
  description: '',
  template: false,
  appliance: false,
  power_state: 'off',
  running: false,
  os: '',
  os_description: '',
  os_template: '',
  architecture: 'x86_64',
  cpu_hot_plug: false,
  memory_hot_plug: false,
  legacy_boot: false,
  secure_boot: false,
  tpm: false,
  encrypted: false,
  hardware_version: '',
  cluster: '',
  host: '',
  resource_pool: '',
  folder: '',
  datacenter: '',
  background_import: false,
  needs_consolidation: false,
  fault_tolerant: false,
  snapshots: [],
  tags: {},
  attributes: {},
}

const diskFacts = (spec: DiskSpec, machine: MachineSpec): DiskFacts => ({
  key: spec.key,
  label: spec.key,
  name: `[${spec.storageName ?? spec.storage}] ${machine.name}/${spec.key}`,
  capacity: spec.capacity,
  used: spec.thin ? (spec.base?.allocated ?? dataBytes(spec.profile)) : spec.capacity,
  backing: 'file',
  mode: 'dependent',
  shared: false,
  encrypted: false,
  thin: spec.thin,
  datastore: spec.storageName ?? spec.storage,
  change_id: null,
  ...spec.facts,
})

export const factsOf = (spec: MachineSpec): InstanceFacts => ({
  ...noFacts,
  ref: spec.ref,
  uuid: spec.uuid,
  bios_uuid: spec.uuid,
  name: spec.name,
  location: `${spec.folder}/${spec.name}`,
  cpus: spec.cpus,
  memory: spec.memory,
  cluster: spec.cluster,
  folder: spec.folder,
  datacenter: spec.datacenter,
  background_import: spec.tracked,
  nics: spec.nics,
  disks: spec.disks.map((disk) => diskFacts(disk, spec)),
  devices: spec.devices,
  guest: { agent: 'unknown', agent_version: '', hostname: '' },
  ...spec.facts,
})

/** Puts the machine into the site, running already where the spec says so. */
export const addMachine = async (change: Change, spec: MachineSpec): Promise<Machine> => {
  const [first] = spec.disks
  const boots = first && spec.power !== 'off' ? readBootRecord(originalBlock(first, 0)) : null
  const machine: Machine = {
    site: change.site,
    ref: spec.ref,
    name: spec.name,
    uuid: spec.uuid,
    lineage: spec.lineage ?? (spec.uuid === '' ? `${change.site}/${spec.ref}` : spec.uuid),
    folder: spec.folder,
    location: `${spec.folder}/${spec.name}`,
    datacenter: spec.datacenter,
    project: spec.project,
    host: spec.host,
    cluster: spec.cluster,
    cpus: spec.cpus,
    memory: spec.memory,
    template: spec.template,
    complete: spec.complete,
    facts: (spec.rawFacts as unknown as InstanceFacts | undefined) ?? factsOf(spec),
    traits: { ...spec.traits, ...(spec.rawFacts ? { frozenFacts: true } : {}) },
    guest: boots,
    owner: { ...spec.owner },
    power: spec.power,
    runId: spec.power === 'on' ? newId() : '',
    bootId: boots ? newId() : '',
    counterBase: 0,
    counterAt: spec.power === 'on' ? toDate(change.at) : null,
    readyAt: spec.power === 'on' ? toDate(change.at) : null,
    loadAt: spec.power === 'on' ? toDate(change.at) : null,
    snapshot: null,
  }
  await saveMachine(change, machine)
  for (const [position, disk] of spec.disks.entries())
    await addDisk(change, { ...disk, machine: spec.ref, position, tracked: spec.tracked })
  if (spec.tracked) {
    await showTracking(change, machine)
    await saveMachine(change, machine)
  }
  if (spec.power === 'on') await logPower(change, machine)
  return machine
}

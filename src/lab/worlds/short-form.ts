import { createHash } from 'node:crypto'
import type {
  DeviceFacts,
  DiskFacts,
  InstanceFacts,
  NicFacts,
  PowerState,
} from '../../domain/inventory/facts.ts'
import { storableText } from '../../storable.ts'
import type { BootRecord, DiskProfile } from '../model/disk-content.ts'
import type { MachineTraits } from '../store/machines.ts'
import type { DiskSpec, MachineSpec } from '../tasks/machine-spec.ts'

export const KiB = 1024
export const MiB = 1024 * KiB
export const GiB = 1024 * MiB
export const TiB = 1024 * GiB

const digest = (text: string): string => createHash('md5').update(text).digest('hex')

/** The same for the same words, and with the marks of a random UUID. */
export const uuidOf = (...words: readonly (string | number)[]): string => {
  const hex = digest(words.join('/'))
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`
}

export const macOf = (...words: readonly (string | number)[]): string => {
  const hex = digest(words.join('/'))
  return `00:50:56:${hex.slice(0, 2)}:${hex.slice(2, 4)}:${hex.slice(4, 6)}`
}

/** A number for content, from words: within 31 bits, because JSON and Postgres both carry it. */
export const seedOf = (...words: readonly (string | number)[]): number =>
  Number.parseInt(digest(words.join('/')).slice(0, 7), 16)

/** A machine of a world in the few words that differ from one to the next. */
export interface ShortMachine {
  readonly ref: string
  readonly name: string
  readonly folder: string
  readonly os: string
  readonly osText: string
  readonly power?: PowerState
  readonly cpus?: number
  readonly memoryGib?: number
  /** Capacity of each disk; data lies at its start. */
  readonly disksGib?: readonly number[]
  readonly dataMib?: number
  readonly network?: string
  readonly nics?: readonly NicFacts[]
  readonly ip?: string
  readonly ports?: readonly number[]
  readonly agent?: BootRecord['agent']
  readonly shutdown?: BootRecord['shutdown']
  readonly writes?: BootRecord['writes']
  readonly host?: string
  readonly tracked?: boolean
  readonly template?: boolean
  readonly devices?: readonly DeviceFacts[]
  readonly tags?: InstanceFacts['tags']
  readonly attributes?: InstanceFacts['attributes']
  readonly disk?: Partial<DiskFacts>
  readonly facts?: Partial<InstanceFacts>
  readonly traits?: MachineTraits
  readonly uuid?: string
  /** The facts as they are shown, whatever the machine is: a platform that lies. */
  readonly rawFacts?: Record<string, unknown>
}

/** What is the same for all machines of a site. */
export interface SiteForm {
  readonly seed: number
  readonly site: string
  readonly datacenter: string
  readonly cluster: string
  readonly storage: string
  readonly storageName: string
  readonly networks: Readonly<Record<string, string>>
  readonly project: string
}

const bootOf = (short: ShortMachine): BootRecord => ({
  // As long as a host name may be: a name that is a page long would not fit into the block.
  hostname: storableText(short.name).slice(0, 63),
  os: short.os,
  agent: short.agent ?? 'running',
  addresses: short.ip === undefined ? [] : [[short.ip]],
  ports: [...(short.ports ?? [22])],
  boot_ms: 2_000,
  shutdown_ms: 1_500,
  shutdown: short.shutdown ?? 'obeys',
  writes: short.writes ?? null,
})

const diskOf = (form: SiteForm, short: ShortMachine, disk: { index: number; capacity: number }): DiskSpec => {
  const data = Math.min((short.dataMib ?? 5) * MiB, disk.capacity)
  const profile: DiskProfile = {
    // A second stretch in the middle, so that a copy has to find its way.
    data:
      disk.capacity >= GiB
        ? [
            [0, data],
            [Math.floor(disk.capacity / 2 / MiB) * MiB, Math.min(data, MiB)],
          ]
        : [[0, data]],
    random: 30,
    boot: disk.index === 0 ? bootOf(short) : null,
  }
  return {
    key: `${2_000 + disk.index}`,
    capacity: disk.capacity,
    storage: form.storage,
    storageName: form.storageName,
    thin: true,
    seed: seedOf(form.seed, form.site, short.ref, disk.index),
    profile,
    facts: {
      label: `Hard disk ${disk.index + 1}`,
      name: `[${form.storageName}] ${short.name}/${short.name}${disk.index === 0 ? '' : `_${disk.index}`}.vmdk`,
      ...(disk.index === 0 ? short.disk : {}),
    },
  }
}

const nicOf = (form: SiteForm, short: ShortMachine): NicFacts[] => {
  const ref = short.network
  if (ref === undefined) return []
  return [
    {
      key: '4000',
      label: 'Network adapter 1',
      mac: macOf(form.seed, form.site, short.ref),
      connected: true,
      network_ref: ref,
      network: form.networks[ref] ?? '',
      type: 'vmxnet3',
      ipv4_addresses: short.ip === undefined || short.power === 'off' ? [] : [short.ip],
      ipv6_addresses: [],
    },
  ]
}

export const machineSpec = (form: SiteForm, short: ShortMachine): MachineSpec => {
  const uuid = short.uuid ?? uuidOf(form.seed, form.site, short.ref)
  const power = short.template ? 'off' : (short.power ?? 'on')
  const agent = short.agent ?? 'running'
  return {
    ref: short.ref,
    name: short.name,
    uuid,
    folder: short.folder,
    datacenter: form.datacenter,
    cluster: form.cluster,
    host: short.host ?? '',
    project: form.project,
    cpus: short.cpus ?? 2,
    memory: (short.memoryGib ?? 4) * GiB,
    power,
    template: short.template ?? false,
    complete: true,
    nics: short.nics ?? nicOf(form, short),
    disks: (short.disksGib ?? [20]).map((gib, index) =>
      diskOf(form, short, { index, capacity: Math.round(gib * GiB) }),
    ),
    devices: short.devices ?? [],
    owner: {},
    tracked: short.tracked ?? true,
    ...(short.rawFacts ? { rawFacts: short.rawFacts } : {}),
    traits: short.traits ?? {},
    facts: {
      os: short.os,
      os_description: short.osText,
      os_template: short.os,
      hardware_version: 'vmx-19',
      resource_pool: `/${form.datacenter}/host/${form.cluster}/Resources`,
      tags: short.tags ?? {},
      attributes: short.attributes ?? {},
      guest: {
        agent: power === 'on' ? agent : 'not-running',
        agent_version: agent === 'not-installed' ? '' : '12.3.0',
        hostname: agent === 'not-installed' ? '' : short.name,
      },
      ...short.facts,
    },
  }
}

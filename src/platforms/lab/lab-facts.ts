import { z } from 'zod'
import type {
  HostFacts,
  InstanceFacts,
  NetworkFacts,
  ProjectFacts,
  StorageFacts,
} from '../../domain/inventory/facts.ts'
import { labAnswerInvalid } from './lab-answer.ts'
import { wireLimits, wireList, wireRecord } from './wire-limits.ts'

/*
 * Facts as they come over the wire. What is left out or null is empty, as any platform may not know it. What has
 * the wrong type, or a word that we do not know where it decides something, makes this one thing unreadable.
 */
const text = z
  .string()
  .nullish()
  .transform((value) => value ?? '')
const flag = z
  .boolean()
  .nullish()
  .transform((value) => value ?? false)
const size = z
  .number()
  .nonnegative()
  .nullish()
  .transform((value) => value ?? 0)
const listOf = <Item extends z.ZodType>(item: Item) =>
  wireList(item)
    .nullish()
    .transform((value) => value ?? [])
const recordOf = <Value extends z.ZodType>(value: Value) =>
  wireRecord(value)
    .nullish()
    .transform((record) => record ?? {})
const optional = <Value extends z.ZodType>(value: Value) =>
  value.nullish().transform((given) => given ?? null)
const ref = z.string().min(1).max(wireLimits.refChars)

const nic = z.object({
  key: text,
  label: text,
  mac: text,
  connected: flag,
  network_ref: text,
  network: text,
  type: text,
  ipv4_addresses: listOf(z.string()),
  ipv6_addresses: listOf(z.string()),
})

const disk = z.object({
  key: text,
  label: text,
  name: text,
  capacity: size,
  used: optional(z.number().nonnegative()),
  backing: z.enum(['file', 'raw-mapping', 'raw', 'volume', 'unknown']).catch('unknown'),
  mode: z.enum(['dependent', 'independent', 'unknown']).catch('unknown'),
  shared: flag,
  encrypted: flag,
  thin: optional(z.boolean()),
  datastore: text,
  change_id: optional(z.string()),
  unreadable: z.string().min(1).optional(),
})

const snapshot = z.object({
  ref: text,
  name: text,
  created_at: optional(z.string()),
  memory: flag,
  parent: optional(z.string()),
})

const deviceKinds = [
  'pci-passthrough',
  'vgpu',
  'usb',
  'sriov-nic',
  'serial',
  'parallel',
  'cdrom',
  'floppy',
  'tpm',
  'nvdimm',
  'other',
] as const
const device = z.object({ kind: z.enum(deviceKinds).catch('other'), label: text, connected: flag })

const unknownGuest = { agent: 'unknown', agent_version: '', hostname: '' } as const
const guest = z.object({
  agent: z.enum(['running', 'not-running', 'not-installed', 'unknown']).catch('unknown'),
  agent_version: text,
  hostname: text,
})

const instance = z.object({
  ref,
  uuid: text,
  bios_uuid: text,
  name: text,
  location: text,
  description: text,
  template: flag,
  appliance: flag,
  power_state: z.enum(['on', 'off', 'suspended']),
  running: flag,
  os: text,
  os_description: text,
  os_template: text,
  architecture: text,
  cpus: size,
  memory: size,
  cpu_hot_plug: flag,
  memory_hot_plug: flag,
  legacy_boot: flag,
  secure_boot: flag,
  tpm: flag,
  encrypted: flag,
  hardware_version: text,
  cluster: text,
  host: text,
  resource_pool: text,
  folder: text,
  datacenter: text,
  background_import: flag,
  needs_consolidation: flag,
  fault_tolerant: flag,
  nics: listOf(nic),
  disks: listOf(disk),
  snapshots: listOf(snapshot),
  devices: listOf(device),
  guest: guest.nullish().transform((value) => value ?? unknownGuest),
  tags: recordOf(wireList(z.string())),
  attributes: recordOf(z.string()),
})

const network = z.object({
  ref,
  name: text,
  location: text,
  type: z.enum(['standard', 'distributed', 'nsx', 'nsx-distributed', 'bridge', 'other']).catch('other'),
  datacenter: text,
  switch: text,
  vlan: text,
  segment_id: text,
  subnets: listOf(z.string()),
  accessible: flag,
  projects: listOf(z.string()),
})

const host = z.object({
  ref,
  name: text,
  cluster: text,
  datacenter: text,
  state: z.enum(['connected', 'disconnected', 'not-responding', 'maintenance']),
  cpu_model: text,
  cpu_class: text,
  cpus: size,
  memory: size,
  cpus_used: size,
  memory_used: size,
  version: text,
})

const storage = z.object({
  ref,
  name: text,
  type: text,
  capacity: size,
  free: size,
  accessible: flag,
  hosts: listOf(z.string()),
  projects: listOf(z.string()),
})

const project = z.object({ ref, name: text, limits: recordOf(z.number()), used: recordOf(z.number()) })

const readings = { instance, network, host, storage, project }

export interface FactsOf {
  readonly instance: InstanceFacts
  readonly network: NetworkFacts
  readonly host: HostFacts
  readonly storage: StorageFacts
  readonly project: ProjectFacts
}

/** The facts of one thing, or an error that says which of them cannot be. */
export const readFacts = <Type extends keyof FactsOf>(type: Type, facts: unknown): FactsOf[Type] => {
  const parsed = readings[type].safeParse(facts)
  if (parsed.success) return parsed.data as FactsOf[Type]
  const [issue] = parsed.error.issues
  throw labAnswerInvalid(
    `the ${issue?.path.join('.') || 'facts'} of this ${type}: ${issue?.message ?? 'not valid'}`,
  )
}

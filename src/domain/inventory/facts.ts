import { z } from 'zod'

/**
 * What a platform says about the things in it. The names are the API's: what is stored is what a filter sees and
 * what an answer shows, so nothing is renamed on the way. A fact that a platform does not know is empty or null;
 * it never makes an earlier, better answer go away (merge.ts).
 */

const text = z.string()
const bytes = z.number().meta({ description: 'Bytes.' })
const flag = z.boolean()
const texts = z.array(text)

type Fixed<Value> = Value extends readonly (infer Item)[]
  ? readonly Fixed<Item>[]
  : Value extends object
    ? { readonly [Field in keyof Value]: Fixed<Exclude<Value[Field], undefined>> }
    : Value

/** Facts are replaced by the next reading, never changed. */
type Facts<Schema extends z.ZodType> = Fixed<z.infer<Schema>>

/** One network card, as its platform has it. */
export const nicFacts = z.object({
  /** The platform's own key of the card, kept over a sync. */
  key: text,
  label: text,
  /** Lower case with colons. */
  mac: text,
  connected: flag,
  /** The platform's id of the network, which a Network of the same source has as its `ref`. */
  network_ref: text,
  network: text,
  type: text,
  ipv4_addresses: texts,
  ipv6_addresses: texts,
})
export type NicFacts = Facts<typeof nicFacts>

export const diskFacts = z.object({
  key: text,
  label: text,
  /** The base of the snapshot chain: `[datastore] folder/disk.vmdk`, a volume, a path. */
  name: text,
  capacity: bytes,
  /** Bytes that hold data, where the platform knows. */
  used: bytes.nullable(),
  backing: z.enum(['file', 'raw-mapping', 'raw', 'volume', 'unknown']),
  mode: z.enum(['dependent', 'independent', 'unknown']),
  shared: flag,
  encrypted: flag,
  thin: flag.nullable(),
  datastore: text,
  /** Where tracking of this disk stands, if it is tracked; compared for equality only. */
  change_id: text.nullable(),
  /** Why the platform's driver cannot read the disk, as the rest of a sentence; absent: it can. */
  unreadable: text.optional(),
})
export type DiskFacts = Facts<typeof diskFacts>

export const snapshotFacts = z.object({
  ref: text,
  name: text,
  created_at: text.nullable(),
  /** With the memory of the running guest. */
  memory: flag,
  /** Its parent; null for a root. */
  parent: text.nullable(),
})
export type SnapshotFacts = Facts<typeof snapshotFacts>

/** A device that cannot be migrated, or only after a decision: passthrough, a serial port, a mounted medium. */
export const deviceFacts = z.object({
  kind: z.enum([
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
  ]),
  label: text,
  connected: flag,
})
export type DeviceFacts = Facts<typeof deviceFacts>

export const guestFacts = z.object({
  agent: z.enum(['running', 'not-running', 'not-installed', 'unknown']),
  agent_version: text,
  hostname: text,
})
export type GuestFacts = Facts<typeof guestFacts>

/** One VM in a source's inventory. */
export const instanceFacts = z.object({
  /** The platform's id: `vm-123`. Within one source nothing else has it. */
  ref: text,
  /** The identity that should be the same wherever the VM is known. Lower case; empty when the platform has none. */
  uuid: text,
  /** The firmware's identity, as the guest sees it. */
  bios_uuid: text,
  name: text,
  /** Inventory path: `/Paris/vm/shop/web-01`. */
  location: text,
  description: text,
  template: flag,
  /** A machine of the platform itself: its manager, an agent VM of a cluster. */
  appliance: flag,
  power_state: z.enum(['on', 'off', 'suspended']),
  running: flag,
  os: text,
  os_description: text,
  /** The guest system that the VM was configured for. */
  os_template: text,
  /** `x86_64`, `aarch64`, …; empty when unknown. */
  architecture: text,
  cpus: z.number(),
  memory: bytes,
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
  /** Changed blocks are tracked. */
  background_import: flag,
  needs_consolidation: flag,
  fault_tolerant: flag,
  nics: z.array(nicFacts),
  disks: z.array(diskFacts),
  snapshots: z.array(snapshotFacts),
  devices: z.array(deviceFacts),
  guest: guestFacts,
  /** A tag without a category is under the empty one. */
  tags: z.record(text, texts).meta({ description: 'Names by category.' }),
  attributes: z.record(text, text),
})
export type PowerState = InstanceFacts['power_state']
export type InstanceFacts = Facts<typeof instanceFacts>

export const networkFacts = z.object({
  ref: text,
  name: text,
  location: text,
  type: z.enum(['standard', 'distributed', 'nsx', 'nsx-distributed', 'bridge', 'other']),
  datacenter: text,
  switch: text,
  /** One VLAN, a comma-separated list of ids and ranges, or empty. */
  vlan: text,
  segment_id: text,
  subnets: texts,
  accessible: flag,
  /** Its projects, by name or ref; absent or empty: all projects. */
  projects: texts.optional(),
})
export type NetworkType = NetworkFacts['type']
export type NetworkFacts = Facts<typeof networkFacts>

export const hostFacts = z.object({
  ref: text,
  name: text,
  cluster: text,
  datacenter: text,
  state: z.enum(['connected', 'disconnected', 'not-responding', 'maintenance']),
  cpu_model: text,
  /** Hosts of one class can exchange running machines. */
  cpu_class: text,
  cpus: z.number(),
  memory: z.number(),
  cpus_used: z.number(),
  memory_used: z.number(),
  version: text,
})
export type HostFacts = Facts<typeof hostFacts>

/** Where disks live: a datastore, a pool, a volume group. */
export const storageFacts = z.object({
  ref: text,
  name: text,
  type: text,
  capacity: z.number(),
  free: z.number(),
  accessible: flag,
  /** Hosts that reach it, by ref. */
  hosts: texts,
  /** Its projects, by name or ref; absent or empty: all projects. */
  projects: texts.optional(),
})
export type StorageFacts = Facts<typeof storageFacts>

/** A tenant's share of a target. */
export const projectFacts = z.object({
  ref: text,
  name: text,
  limits: z.record(text, z.number()),
  used: z.record(text, z.number()),
})
export type ProjectFacts = Facts<typeof projectFacts>

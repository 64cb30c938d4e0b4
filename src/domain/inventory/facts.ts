/**
 * What a platform says about the things in it. The names are the API's: what is stored is what a filter sees and
 * what an answer shows, so nothing is renamed on the way. A fact that a platform does not know is empty or null;
 * it never makes an earlier, better answer go away (merge.ts).
 */

export type PowerState = 'on' | 'off' | 'suspended'

/** One network card, as its platform has it. */
export interface NicFacts {
  /** The platform's own key of the card, kept over a sync. */
  readonly key: string
  readonly label: string
  /** Lower case with colons. */
  readonly mac: string
  readonly connected: boolean
  /** The platform's id of the network, which a Network of the same source has as its `ref`. */
  readonly network_ref: string
  readonly network: string
  readonly type: string
  readonly ipv4_addresses: readonly string[]
  readonly ipv6_addresses: readonly string[]
}

/** How a disk is attached decides whether it can be copied at all. */
export type DiskBacking = 'file' | 'raw-mapping' | 'raw' | 'volume' | 'unknown'
export type DiskMode = 'dependent' | 'independent' | 'unknown'

export interface DiskFacts {
  readonly key: string
  readonly label: string
  /** The base of the snapshot chain: `[datastore] folder/disk.vmdk`, a volume, a path. */
  readonly name: string
  readonly capacity: number
  /** Bytes that hold data, where the platform knows. */
  readonly used: number | null
  readonly backing: DiskBacking
  readonly mode: DiskMode
  readonly shared: boolean
  readonly encrypted: boolean
  readonly thin: boolean | null
  readonly datastore: string
  /** Where tracking of this disk stands, if it is tracked; compared for equality only. */
  readonly change_id: string | null
  /** Why the driver of its platform cannot read it, after its name; absent: it can. */
  readonly unreadable?: string
}

export interface SnapshotFacts {
  readonly ref: string
  readonly name: string
  readonly created_at: string | null
  /** With the memory of the running guest. */
  readonly memory: boolean
  /** Its parent; null for a root. */
  readonly parent: string | null
}

/** A device that cannot go along, or only by a decision: passthrough, a serial port, a mounted medium. */
export interface DeviceFacts {
  readonly kind:
    | 'pci-passthrough'
    | 'vgpu'
    | 'usb'
    | 'sriov-nic'
    | 'serial'
    | 'parallel'
    | 'cdrom'
    | 'floppy'
    | 'tpm'
    | 'nvdimm'
    | 'other'
  readonly label: string
  readonly connected: boolean
}

export interface GuestFacts {
  readonly agent: 'running' | 'not-running' | 'not-installed' | 'unknown'
  readonly agent_version: string
  readonly hostname: string
}

/** One VM in a source's inventory. */
export interface InstanceFacts {
  /** The platform's id: `vm-123`. Within one source nothing else has it. */
  readonly ref: string
  /** The identity that should be the same wherever the VM is known. Lower case; empty when the platform has none. */
  readonly uuid: string
  /** The firmware's identity, as the guest sees it. */
  readonly bios_uuid: string
  readonly name: string
  /** Inventory path: `/Paris/vm/shop/web-01`. */
  readonly location: string
  readonly description: string
  readonly template: boolean
  /** A machine of the platform itself: its manager, an agent VM of a cluster. */
  readonly appliance: boolean
  readonly power_state: PowerState
  readonly running: boolean
  readonly os: string
  readonly os_description: string
  /** What the platform was told to expect when the VM was made. */
  readonly os_template: string
  /** `x86_64`, `aarch64`, …; empty when unknown. */
  readonly architecture: string
  readonly cpus: number
  /** Bytes. */
  readonly memory: number
  readonly cpu_hot_plug: boolean
  readonly memory_hot_plug: boolean
  readonly legacy_boot: boolean
  readonly secure_boot: boolean
  readonly tpm: boolean
  readonly encrypted: boolean
  readonly hardware_version: string
  readonly cluster: string
  readonly host: string
  readonly resource_pool: string
  readonly folder: string
  readonly datacenter: string
  /** Changed blocks are tracked. */
  readonly background_import: boolean
  readonly needs_consolidation: boolean
  readonly fault_tolerant: boolean
  readonly nics: readonly NicFacts[]
  readonly disks: readonly DiskFacts[]
  readonly snapshots: readonly SnapshotFacts[]
  readonly devices: readonly DeviceFacts[]
  readonly guest: GuestFacts
  /** Names by category; a tag without a category is under the empty one. */
  readonly tags: Readonly<Record<string, readonly string[]>>
  readonly attributes: Readonly<Record<string, string>>
}

export type NetworkType = 'standard' | 'distributed' | 'nsx' | 'nsx-distributed' | 'bridge' | 'other'

export interface NetworkFacts {
  readonly ref: string
  readonly name: string
  readonly location: string
  readonly type: NetworkType
  readonly datacenter: string
  readonly switch: string
  /** One VLAN, a comma-separated list of ids and ranges, or empty. */
  readonly vlan: string
  readonly segment_id: string
  readonly subnets: readonly string[]
  readonly accessible: boolean
  /** Projects that it belongs to, by name or ref; absent or empty: it is for all of them. */
  readonly projects?: readonly string[]
}

export interface HostFacts {
  readonly ref: string
  readonly name: string
  readonly cluster: string
  readonly datacenter: string
  readonly state: 'connected' | 'disconnected' | 'not-responding' | 'maintenance'
  readonly cpu_model: string
  /** Hosts of one class can exchange running machines. */
  readonly cpu_class: string
  readonly cpus: number
  readonly memory: number
  readonly cpus_used: number
  readonly memory_used: number
  readonly version: string
}

/** Where disks live: a datastore, a pool, a volume group. */
export interface StorageFacts {
  readonly ref: string
  readonly name: string
  readonly type: string
  readonly capacity: number
  readonly free: number
  readonly accessible: boolean
  /** Hosts that reach it, by ref. */
  readonly hosts: readonly string[]
  /** Projects that it belongs to, by name or ref; absent or empty: it is for all of them. */
  readonly projects?: readonly string[]
}

/** A tenant's share of a target. */
export interface ProjectFacts {
  readonly ref: string
  readonly name: string
  readonly limits: Readonly<Record<string, number>>
  readonly used: Readonly<Record<string, number>>
}

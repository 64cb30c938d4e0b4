import { canonicalIpv4, canonicalIpv6, canonicalMac, canonicalUuid, isUnroutable } from './addresses.ts'
import { Cleaner, limits, naturalOrder, sortedSet } from './bounded-text.ts'
import type {
  DeviceFacts,
  DiskFacts,
  GuestFacts,
  HostFacts,
  InstanceFacts,
  NetworkFacts,
  NicFacts,
  ProjectFacts,
  SnapshotFacts,
  StorageFacts,
} from './facts.ts'

/** Facts that can be stored and compared, and what was cut, as sentences for a warning. */
export interface Cleaned<Facts> {
  readonly facts: Facts
  readonly problems: readonly string[]
}

const cleanMac = (c: Cleaner, mac: string): string => {
  const text = c.text(mac, 'the MAC')
  const canonical = canonicalMac(text)
  if (canonical === undefined && text.trim() !== '') c.about('the MAC', `"${text.slice(0, 40)}" is none.`)
  return canonical ?? ''
}

const cleanUuid = (c: Cleaner, uuid: string, what: string): string => {
  const text = c.text(uuid, what)
  const canonical = canonicalUuid(text)
  if (canonical === undefined && /[1-9a-eg-z]/i.test(text))
    c.about(what, `"${text.slice(0, 60)}" is none and was left out.`)
  return canonical ?? ''
}

const cleanAddresses = (
  c: Cleaner,
  addresses: readonly string[],
  canonical: (text: string) => string | undefined,
  what: string,
): string[] => {
  const kept: string[] = []
  for (const address of c.list(addresses, what, limits.addresses)) {
    const text = c.text(address, what, 100)
    const found = canonical(text)
    if (found === undefined) c.about(what, `hold "${text.slice(0, 45)}", which is no such address.`)
    else if (!isUnroutable(found)) kept.push(found)
  }
  return kept.length < 2 ? kept : sortedSet(kept)
}

const cleanNic = (c: Cleaner, nic: NicFacts, index: number): NicFacts => {
  c.at('NIC', index)
  return {
    key: c.text(nic.key, 'the key') || `#${index}`,
    label: c.text(nic.label, 'the label'),
    mac: cleanMac(c, nic.mac),
    connected: nic.connected === true,
    network_ref: c.text(nic.network_ref, 'the network'),
    network: c.text(nic.network, "the network's name"),
    type: c.text(nic.type, 'the type'),
    ipv4_addresses: cleanAddresses(c, nic.ipv4_addresses, canonicalIpv4, 'the IPv4 addresses'),
    ipv6_addresses: cleanAddresses(c, nic.ipv6_addresses, canonicalIpv6, 'the IPv6 addresses'),
  }
}

const cleanDisk = (c: Cleaner, disk: DiskFacts, index: number): DiskFacts => {
  c.at('disk', index)
  return {
    key: c.text(disk.key, 'the key') || `#${index}`,
    label: c.text(disk.label, 'the label'),
    name: c.text(disk.name, 'the name', limits.location),
    capacity: c.count(disk.capacity, 'the capacity'),
    used: disk.used === null ? null : c.count(disk.used, 'the number of used bytes'),
    backing: disk.backing,
    mode: disk.mode,
    shared: disk.shared === true,
    encrypted: disk.encrypted === true,
    thin: disk.thin ?? null,
    datastore: c.text(disk.datastore, 'the datastore'),
    change_id: disk.change_id === null ? null : c.text(disk.change_id, 'the change id'),
    ...(disk.unreadable ? { unreadable: c.text(disk.unreadable, 'why it cannot be read') } : {}),
  }
}

const cleanTime = (c: Cleaner, time: string | null): string | null => {
  if (time === null || time === '') return null
  const date = new Date(c.text(time, 'the time', 100))
  if (!Number.isNaN(date.getTime())) return date.toISOString()
  c.about('the time', 'is none.')
  return null
}

const cleanSnapshot = (c: Cleaner, snapshot: SnapshotFacts, index: number): SnapshotFacts => {
  c.at('snapshot', index)
  return {
    ref: c.text(snapshot.ref, 'the id') || `#${index}`,
    name: c.text(snapshot.name, 'the name'),
    created_at: cleanTime(c, snapshot.created_at),
    memory: snapshot.memory === true,
    parent: snapshot.parent === null ? null : c.text(snapshot.parent, 'the parent'),
  }
}

const cleanDevice = (c: Cleaner, device: DeviceFacts, index: number): DeviceFacts => {
  c.at('device', index)
  return { kind: device.kind, label: c.text(device.label, 'the label'), connected: device.connected === true }
}

const cleanGuest = (c: Cleaner, guest: GuestFacts): GuestFacts => ({
  agent: guest.agent,
  agent_version: c.text(guest.agent_version, 'the version of the guest agent'),
  hostname: c.text(guest.hostname, "the guest's host name"),
})

const cleanTags = (c: Cleaner, tags: InstanceFacts['tags']): InstanceFacts['tags'] => {
  const cleaned = new Map<string, string[]>()
  for (const [category, names] of c.record(tags, 'tag categories', limits.tagCategories)) {
    const kept = c
      .list(names, 'tags of one category', limits.tags)
      .map((name) => c.text(name, 'a tag', limits.tag))
    const key = c.text(category, 'a tag category', limits.tag)
    if (kept.length > 0) cleaned.set(key, [...(cleaned.get(key) ?? []), ...kept])
  }
  return Object.fromEntries([...cleaned].map(([category, names]) => [category, [...new Set(names)].sort()]))
}

const cleanAttributes = (c: Cleaner, attributes: InstanceFacts['attributes']): Record<string, string> =>
  Object.fromEntries(
    c
      .record(attributes, 'attributes', limits.attributes)
      .map(([key, value]) => [
        c.text(key, "an attribute's name"),
        c.text(value, 'an attribute', limits.attribute),
      ]),
  )

const deviceName = (device: DeviceFacts): string => `${device.kind} ${device.label} ${device.connected}`

const cleanDevices = (c: Cleaner, devices: readonly DeviceFacts[]): DeviceFacts[] =>
  c
    .list(devices, 'devices', limits.devices)
    .map((device, index) => cleanDevice(c, device, index))
    // Two devices may be equal in all stored fields; their order must not matter.
    .sort((a, b) => naturalOrder(deviceName(a), deviceName(b)))

/** The single-valued fields. Written out, because this runs for every VM of every sync. */
const cleanFields = (c: Cleaner, seen: InstanceFacts) => {
  return {
    ref: c.text(seen.ref, "the platform's id"),
    uuid: cleanUuid(c, seen.uuid, 'the UUID'),
    bios_uuid: cleanUuid(c, seen.bios_uuid, "the firmware's UUID"),
    name: c.text(seen.name, 'the field name', limits.name),
    location: c.key(seen.location, 'the field location', limits.location),
    description: c.text(seen.description, 'the field description', limits.description),
    os: c.text(seen.os, 'the field os'),
    os_description: c.text(seen.os_description, 'the field os_description'),
    os_template: c.text(seen.os_template, 'the field os_template'),
    architecture: c.text(seen.architecture, 'the field architecture'),
    hardware_version: c.text(seen.hardware_version, 'the field hardware_version'),
    cluster: c.text(seen.cluster, 'the field cluster'),
    host: c.text(seen.host, 'the field host'),
    resource_pool: c.text(seen.resource_pool, 'the field resource_pool'),
    folder: c.text(seen.folder, 'the field folder', limits.location),
    datacenter: c.text(seen.datacenter, 'the field datacenter'),
    cpus: c.count(seen.cpus, 'the number of CPUs'),
    memory: c.count(seen.memory, 'the memory'),
    power_state: seen.power_state,
    template: seen.template === true,
    appliance: seen.appliance === true,
    running: seen.running === true,
    cpu_hot_plug: seen.cpu_hot_plug === true,
    memory_hot_plug: seen.memory_hot_plug === true,
    legacy_boot: seen.legacy_boot === true,
    secure_boot: seen.secure_boot === true,
    tpm: seen.tpm === true,
    encrypted: seen.encrypted === true,
    background_import: seen.background_import === true,
    needs_consolidation: seen.needs_consolidation === true,
    fault_tolerant: seen.fault_tolerant === true,
  }
}

/**
 * The stored facts of a VM, whatever the platform said: bounded, storable, in one notation and order. The same machine
 * gives the same facts, and cleaning clean facts changes nothing.
 */
export const cleanInstance = (seen: InstanceFacts): Cleaned<InstanceFacts> => {
  const c = new Cleaner()
  const fields = cleanFields(c, seen)
  const nics = c.list(seen.nics, 'NICs', limits.nics).map((nic, index) => cleanNic(c, nic, index))
  c.whole()
  const disks = c.list(seen.disks, 'disks', limits.disks).map((disk, index) => cleanDisk(c, disk, index))
  c.whole()
  const snapshots = c
    .list(seen.snapshots, 'snapshots', limits.snapshots)
    .map((snapshot, index) => cleanSnapshot(c, snapshot, index))
  c.whole()
  const facts: InstanceFacts = {
    ...fields,
    nics: c.byKey(nics, (nic) => nic.key, 'NICs'),
    disks: c.byKey(disks, (disk) => disk.key, 'disks'),
    snapshots: c.byKey(snapshots, (snapshot) => snapshot.ref, 'snapshots'),
    guest: cleanGuest(c, seen.guest),
    tags: cleanTags(c, seen.tags),
    attributes: cleanAttributes(c, seen.attributes),
    devices: cleanDevices(c, seen.devices),
  }
  return { facts, problems: c.problems }
}

/** As {@link cleanInstance}, for a network. */
export const cleanNetwork = (seen: NetworkFacts): Cleaned<NetworkFacts> => {
  const c = new Cleaner()
  const subnets = c.list(seen.subnets, 'subnets', limits.subnets)
  const facts: NetworkFacts = {
    ref: c.text(seen.ref, "the platform's id"),
    name: c.text(seen.name, 'the name', limits.name),
    location: c.key(seen.location, 'the location', limits.location),
    type: seen.type,
    datacenter: c.text(seen.datacenter, 'the data centre'),
    switch: c.text(seen.switch, 'the switch'),
    vlan: c.text(seen.vlan, 'the VLAN', limits.location),
    segment_id: c.text(seen.segment_id, 'the segment'),
    subnets: sortedSet(subnets.map((subnet) => c.text(subnet, 'a subnet', 100))),
    accessible: seen.accessible === true,
    ...cleanProjects(c, seen.projects),
  }
  return { facts, problems: c.problems }
}

/** Left out where the thing is for all projects, so that existing records stay equal. */
const cleanProjects = (c: Cleaner, seen: readonly string[] | undefined): { projects?: readonly string[] } => {
  const projects = c.list(seen ?? [], 'projects', limits.projects)
  return projects.length === 0
    ? {}
    : { projects: sortedSet(projects.map((project) => c.text(project, 'a project', limits.name))) }
}

/** As {@link cleanInstance}, for a host. */
export const cleanHost = (seen: HostFacts): Cleaned<HostFacts> => {
  const c = new Cleaner()
  const facts: HostFacts = {
    ref: c.text(seen.ref, "the platform's id"),
    name: c.text(seen.name, 'the name', limits.name),
    cluster: c.text(seen.cluster, 'the cluster'),
    datacenter: c.text(seen.datacenter, 'the data centre'),
    state: seen.state,
    cpu_model: c.text(seen.cpu_model, 'the CPU model'),
    cpu_class: c.text(seen.cpu_class, 'the CPU class'),
    cpus: c.count(seen.cpus, 'the number of CPUs'),
    memory: c.count(seen.memory, 'the memory'),
    cpus_used: c.count(seen.cpus_used, 'the CPUs in use'),
    memory_used: c.count(seen.memory_used, 'the memory in use'),
    version: c.text(seen.version, 'the version'),
  }
  return { facts, problems: c.problems }
}

/** As {@link cleanInstance}, for a project. A value that is not a number is left out. */
export const cleanProject = (seen: ProjectFacts): Cleaned<ProjectFacts> => {
  const c = new Cleaner()
  const numbers = (record: Readonly<Record<string, number>>, what: string): Record<string, number> =>
    Object.fromEntries(
      c
        .record(record, what, limits.attributes)
        .map(([key, value]) => [
          c.text(key, what),
          value !== undefined && Number.isFinite(value) ? value : 0,
        ]),
    )
  const facts: ProjectFacts = {
    ref: c.text(seen.ref, "the platform's id"),
    name: c.text(seen.name, 'the name', limits.name),
    limits: numbers(seen.limits, 'limits'),
    used: numbers(seen.used, 'counts'),
  }
  return { facts, problems: c.problems }
}

/** As {@link cleanInstance}, for a datastore or pool. */
export const cleanStorage = (seen: StorageFacts): Cleaned<StorageFacts> => {
  const c = new Cleaner()
  const hosts = c.list(seen.hosts, 'hosts', limits.storageHosts)
  const facts: StorageFacts = {
    ref: c.text(seen.ref, "the platform's id"),
    name: c.text(seen.name, 'the name', limits.name),
    type: c.text(seen.type, 'the type'),
    capacity: c.count(seen.capacity, 'the capacity'),
    free: c.count(seen.free, 'the free space'),
    accessible: seen.accessible === true,
    hosts: sortedSet(hosts.map((host) => c.text(host, 'a host'))),
    ...cleanProjects(c, seen.projects),
  }
  return { facts, problems: c.problems }
}

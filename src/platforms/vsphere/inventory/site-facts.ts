import type { HostFacts, NetworkFacts, StorageFacts } from '../../../domain/inventory/facts.ts'
import {
  child,
  childrenOf,
  flagOf,
  isTrue,
  numberOf,
  refOf,
  textOf,
  type XmlNode,
} from '../../../xml/xml-node.ts'
import type { ObjectRead } from '../soap/property-read.ts'
import type { InventoryTree } from './inventory-tree.ts'

/** What is read of hosts, datastores and networks. */
export const sitePaths = {
  host: [
    ...['name', 'parent', 'runtime.connectionState', 'runtime.inMaintenanceMode', 'summary.hardware'],
    ...['summary.quickStats', 'summary.maxEVCModeKey', 'config.product', 'config.network.portgroup'],
  ],
  storage: ['name', 'parent', 'summary', 'host'],
  network: ['name', 'parent', 'summary', 'tag'],
  portgroup: ['name', 'parent', 'summary', 'tag', 'config'],
} as const

/** `evcModes`: of clusters that make their hosts look alike, by ref. */
export const readHost = (
  { ref, properties }: ObjectRead,
  tree: InventoryTree,
  evcModes: ReadonlyMap<string, string>,
): HostFacts => {
  const text = (path: string) => properties.get(path)?.text ?? ''
  const hardware = properties.get('summary.hardware')
  const stats = properties.get('summary.quickStats')
  const cluster = tree.nearest(ref.value, 'ClusterComputeResource')?.ref.value ?? ''
  const cpuModel = textOf(hardware, 'cpuModel').replaceAll(/\s+/g, ' ').trim()
  const mhz = numberOf(hardware, 'cpuMhz')
  const product = properties.get('config.product')
  return {
    ref: ref.value,
    name: tree.name(ref.value) || text('name'),
    cluster: tree.name(cluster),
    datacenter: tree.name(tree.nearest(ref.value, 'Datacenter')?.ref.value ?? ''),
    state: hostState(text('runtime.connectionState'), isTrue(text('runtime.inMaintenanceMode'))),
    cpu_model: cpuModel,
    cpu_class: evcModes.get(cluster) || text('summary.maxEVCModeKey') || cpuModel,
    cpus: numberOf(hardware, 'numCpuThreads') || numberOf(hardware, 'numCpuCores'),
    memory: numberOf(hardware, 'memorySize'),
    // In processors, as capacity is; vSphere counts the megahertz of cores.
    cpus_used: mhz > 0 ? Math.round((numberOf(stats, 'overallCpuUsage') / mhz) * 100) / 100 : 0,
    memory_used: numberOf(stats, 'overallMemoryUsage') * 1024 * 1024,
    version: [textOf(product, 'version'), textOf(product, 'build')].filter((part) => part !== '').join('-'),
  }
}

const hostState = (connection: string, maintenance: boolean): HostFacts['state'] => {
  if (connection === 'notResponding') return 'not-responding'
  if (connection === 'disconnected') return 'disconnected'
  return maintenance ? 'maintenance' : 'connected'
}

export const readStorage = ({ ref, properties }: ObjectRead, tree: InventoryTree): StorageFacts => {
  const summary = properties.get('summary')
  return {
    ref: ref.value,
    name: tree.name(ref.value) || (properties.get('name')?.text ?? ''),
    type: textOf(summary, 'type').toLowerCase(),
    capacity: numberOf(summary, 'capacity'),
    free: numberOf(summary, 'freeSpace'),
    accessible: flagOf(summary, 'accessible'),
    hosts: (properties.get('host')?.children ?? [])
      .filter((mount) => textOf(child(mount, 'mountInfo'), 'accessible') !== 'false')
      .flatMap((mount) => refOf(child(mount, 'key'))?.value ?? []),
  }
}

/** VLANs of standard networks are known to hosts alone: by data centre and name of the network. */
export type HostVlans = ReadonlyMap<string, ReadonlyMap<string, PortgroupOfHost>>

export interface PortgroupOfHost {
  readonly vlans: ReadonlySet<number>
  readonly switches: ReadonlySet<string>
}

export const readHostVlans = (hosts: readonly ObjectRead[], tree: InventoryTree): HostVlans => {
  const found = new Map<string, Map<string, { vlans: Set<number>; switches: Set<string> }>>()
  for (const { ref, properties } of hosts) {
    const datacenter = tree.nearest(ref.value, 'Datacenter')?.ref.value ?? ''
    const ofDatacenter = found.get(datacenter) ?? new Map()
    found.set(datacenter, ofDatacenter)
    for (const portgroup of properties.get('config.network.portgroup')?.children ?? []) {
      const spec = child(portgroup, 'spec')
      const name = textOf(spec, 'name')
      const known = ofDatacenter.get(name) ?? { vlans: new Set(), switches: new Set() }
      ofDatacenter.set(name, known)
      known.vlans.add(numberOf(spec, 'vlanId'))
      known.switches.add(textOf(spec, 'vswitchName'))
    }
  }
  return found
}

/** Nothing for what no machine can be plugged into: the uplinks of a distributed switch. */
export const readNetwork = (
  { ref, properties }: ObjectRead,
  tree: InventoryTree,
  hostVlans: HostVlans,
): NetworkFacts | undefined => {
  const config = properties.get('config')
  if (flagOf(config, 'uplink') || isUplink(properties.get('tag'))) return undefined
  const summary = properties.get('summary')
  const datacenter = tree.nearest(ref.value, 'Datacenter')?.ref.value ?? ''
  const name = tree.name(ref.value) || (properties.get('name')?.text ?? '')
  return {
    ref: ref.value,
    name,
    location: tree.path(ref.value),
    datacenter: tree.name(datacenter),
    subnets: [],
    accessible: flagOf(summary, 'accessible'),
    ...(ref.type === 'OpaqueNetwork'
      ? opaqueNetwork(summary)
      : ref.type === 'DistributedVirtualPortgroup'
        ? distributedNetwork(config, tree)
        : standardNetwork(hostVlans.get(datacenter)?.get(name))),
  }
}

type Kind = Pick<NetworkFacts, 'type' | 'switch' | 'vlan' | 'segment_id'>

const opaqueNetwork = (summary: XmlNode | undefined): Kind => ({
  type: textOf(summary, 'opaqueNetworkType').startsWith('nsx') ? 'nsx' : 'other',
  switch: '',
  vlan: '',
  segment_id: textOf(summary, 'opaqueNetworkId'),
})

const distributedNetwork = (config: XmlNode | undefined, tree: InventoryTree): Kind => {
  const logicalSwitch = textOf(config, 'logicalSwitchUuid')
  const segment = textOf(config, 'segmentId')
  const isNsx = textOf(config, 'backingType') === 'nsx' || logicalSwitch !== '' || segment !== ''
  return {
    type: isNsx ? 'nsx-distributed' : 'distributed',
    switch: tree.name(refOf(child(config, 'distributedVirtualSwitch'))?.value ?? ''),
    vlan: vlanOf(child(child(config, 'defaultPortConfig'), 'vlan')),
    segment_id: logicalSwitch || segment.split('/').at(-1) || '',
  }
}

const standardNetwork = (known: PortgroupOfHost | undefined): Kind => ({
  type: 'standard',
  switch: [...(known?.switches ?? [])].sort().join(','),
  // 0 is no VLAN; 4095 is all of them, left to the guest.
  vlan: [...(known?.vlans ?? [])]
    .filter((vlan) => vlan !== 0)
    .sort((left, right) => left - right)
    .map((vlan) => (vlan === 4095 ? '0-4094' : String(vlan)))
    .join(','),
  segment_id: '',
})

const vlanOf = (vlan: XmlNode | undefined): string => {
  if (vlan?.xsiType === 'VmwareDistributedVirtualSwitchTrunkVlanSpec')
    return childrenOf(vlan, 'vlanId')
      .map((range) => [textOf(range, 'start'), textOf(range, 'end')])
      .map(([start, end]) => (start === end ? start : `${start}-${end}`))
      .join(',')
  const id = textOf(vlan, 'vlanId') || textOf(vlan, 'pvlanId')
  return id === '0' ? '' : id
}

const isUplink = (tags: XmlNode | undefined): boolean =>
  (tags?.children ?? []).some((tag) => textOf(tag, 'key') === 'SYSTEM/DVS.UPLINKPG')

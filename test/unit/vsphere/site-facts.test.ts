import { expect, test } from 'vitest'
import { siteItems } from '../../../src/platforms/vsphere/inventory/inventory-read.ts'
import { imaginedObject, imaginedTree } from './imagined-tree.ts'

const portgroupOfHost = (name: string, vlan: number, vswitch: string) =>
  `<HostPortGroup><spec><name>${name}</name><vlanId>${vlan}</vlanId><vswitchName>${vswitch}</vswitchName></spec></HostPortGroup>`

const host = (id: string, properties: Record<string, string> = {}) =>
  imaginedObject('HostSystem', id, {
    name: 'esx1.example.org',
    'runtime.connectionState': 'connected',
    'runtime.inMaintenanceMode': 'false',
    'summary.hardware':
      '<val><cpuModel>Intel(R)  Xeon(R) Gold 6338</cpuModel><cpuMhz>2000</cpuMhz><numCpuCores>32</numCpuCores><numCpuThreads>64</numCpuThreads><memorySize>549755813888</memorySize></val>',
    'summary.quickStats':
      '<val><overallCpuUsage>9000</overallCpuUsage><overallMemoryUsage>1024</overallMemoryUsage></val>',
    'summary.maxEVCModeKey': 'intel-icelake',
    'config.product': '<val><version>8.0.2</version><build>22380479</build></val>',
    ...properties,
  })

const factsOf = (...objects: ReturnType<typeof imaginedObject>[]) =>
  siteItems(objects, imaginedTree()).map((item) => ('facts' in item ? item.facts : item))

test('a host is told with its room, its use and its class', () => {
  expect(factsOf(host('host-9'))).toEqual([
    {
      ref: 'host-9',
      name: 'esx1.example.org',
      cluster: 'Gold',
      datacenter: 'Paris',
      state: 'connected',
      cpu_model: 'Intel(R) Xeon(R) Gold 6338',
      cpu_class: 'intel-icelake',
      cpus: 64,
      memory: 549_755_813_888,
      cpus_used: 4.5,
      memory_used: 1024 ** 3,
      version: '8.0.2-22380479',
    },
  ])
})

test('a cluster that makes its hosts look alike decides their class', () => {
  const cluster = imaginedObject('ClusterComputeResource', 'domain-c7', {
    summary: '<val><currentEVCModeKey>intel-broadwell</currentEVCModeKey></val>',
  })
  expect(factsOf(cluster, host('host-9'))).toMatchObject([{ cpu_class: 'intel-broadwell' }])
})

test.each([
  ['connected', 'true', 'maintenance'],
  ['disconnected', 'true', 'disconnected'],
  ['notResponding', 'false', 'not-responding'],
])('a host that is %s with maintenance %s is %s', (connection, maintenance, state) => {
  const properties = { 'runtime.connectionState': connection, 'runtime.inMaintenanceMode': maintenance }
  expect(factsOf(host('host-9', properties))).toMatchObject([{ state }])
})

test('the VLAN of a standard network is what the hosts of its data centre say', () => {
  const seen = (vlan: number) => ({
    'config.network.portgroup': `<val>${portgroupOfHost('VM Network', vlan, 'vSwitch0')}</val>`,
  })
  const network = imaginedObject('Network', 'network-11', {
    name: 'VM Network',
    summary: '<val><accessible>true</accessible></val>',
  })
  const vlanOf = (...vlans: number[]) =>
    factsOf(network, ...vlans.map((vlan) => host('host-9', seen(vlan)))).find(
      (one) => one.ref === 'network-11',
    )
  expect(vlanOf(0)).toMatchObject({ type: 'standard', vlan: '', switch: 'vSwitch0', accessible: true })
  expect(vlanOf(42, 42)).toMatchObject({ vlan: '42' })
  expect(vlanOf(120, 7)).toMatchObject({ vlan: '7,120' })
  expect(vlanOf(4095)).toMatchObject({ vlan: '0-4094' })
})

const portgroup = (config: string, tag = '<val/>') =>
  factsOf(
    imaginedObject('DistributedVirtualPortgroup', 'dvportgroup-12', {
      name: 'shop',
      tag,
      config: `<val><distributedVirtualSwitch type="VmwareDistributedVirtualSwitch">dvs-14</distributedVirtualSwitch>${config}</val>`,
    }),
  )[0]

const vlanSpec = (type: string, inside: string) =>
  `<defaultPortConfig xsi:type="VMwareDVSPortSetting"><vlan xsi:type="${type}">${inside}</vlan></defaultPortConfig>`

test('a distributed network is told with its switch and its VLANs', () => {
  const single = vlanSpec('VmwareDistributedVirtualSwitchVlanIdSpec', '<vlanId>77</vlanId>')
  expect(portgroup(single)).toMatchObject({
    ref: 'dvportgroup-12',
    location: '/Paris/network/shop',
    type: 'distributed',
    switch: 'Core',
    vlan: '77',
  })
  const trunk = vlanSpec(
    'VmwareDistributedVirtualSwitchTrunkVlanSpec',
    '<vlanId><start>10</start><end>20</end></vlanId><vlanId><start>33</start><end>33</end></vlanId>',
  )
  expect(portgroup(trunk)).toMatchObject({ vlan: '10-20,33' })
  const isolated = vlanSpec('VmwareDistributedVirtualSwitchPvlanSpec', '<pvlanId>202</pvlanId>')
  expect(portgroup(isolated)).toMatchObject({ vlan: '202' })
  expect(portgroup('')).toMatchObject({ vlan: '', segment_id: '' })
})

test('a distributed network behind NSX has a segment', () => {
  const config =
    '<backingType>nsx</backingType><segmentId>/infra/segments/web</segmentId><logicalSwitchUuid>b7b5</logicalSwitchUuid>'
  expect(portgroup(config)).toMatchObject({ type: 'nsx-distributed', segment_id: 'b7b5' })
  expect(portgroup('<segmentId>/infra/segments/web</segmentId>')).toMatchObject({ segment_id: 'web' })
})

test('uplinks of a switch are no networks', () => {
  expect(portgroup('<uplink>true</uplink>')).toBeUndefined()
  expect(portgroup('', '<val><Tag><key>SYSTEM/DVS.UPLINKPG</key></Tag></val>')).toBeUndefined()
})

test('an NSX network is told by its segment', () => {
  const summary =
    '<val xsi:type="OpaqueNetworkSummary"><accessible>true</accessible><opaqueNetworkId>b7b5-opaque</opaqueNetworkId><opaqueNetworkType>nsx.LogicalSwitch</opaqueNetworkType></val>'
  expect(factsOf(imaginedObject('OpaqueNetwork', 'network-o13', { name: 'seg-web', summary }))).toMatchObject(
    [{ type: 'nsx', name: 'seg-web', segment_id: 'b7b5-opaque', vlan: '' }],
  )
})

test('storage is told with its room and the hosts that reach it', () => {
  const datastore = imaginedObject('Datastore', 'datastore-15', {
    name: 'fast',
    summary:
      '<val><capacity>1000</capacity><freeSpace>400</freeSpace><accessible>true</accessible><type>VMFS</type></val>',
    host: `<val><DatastoreHostMount><key type="HostSystem">host-9</key><mountInfo><accessible>true</accessible></mountInfo></DatastoreHostMount>
      <DatastoreHostMount><key type="HostSystem">host-10</key><mountInfo><accessible>false</accessible></mountInfo></DatastoreHostMount></val>`,
  })
  expect(factsOf(datastore)).toEqual([
    {
      ref: 'datastore-15',
      name: 'fast',
      type: 'vmfs',
      capacity: 1000,
      free: 400,
      accessible: true,
      hosts: ['host-9'],
    },
  ])
})

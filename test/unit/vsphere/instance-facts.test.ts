import { expect, test } from 'vitest'
import { cleanInstance } from '../../../src/domain/inventory/normalise.ts'
import { readInstance } from '../../../src/platforms/vsphere/inventory/instance-facts.ts'
import { imaginedObject, imaginedTree } from './imagined-tree.ts'

/** Shapes of the public API of vSphere 8, for what the simulator has no example of. */
const device = (type: string, inside: string) =>
  `<device xsi:type="${type}"><deviceInfo><label>${type}</label></deviceInfo>${inside}</device>`

const hardware = (...devices: string[]) =>
  `<val xsi:type="VirtualHardware"><numCPU>4</numCPU><memoryMB>8192</memoryMB>${devices.join('')}</val>`

const usual = {
  name: 'web%2f01',
  parent: '<val type="Folder">group-v10</val>',
  'config.uuid': '4211AAAA-0000-4000-8000-000000000001',
  'config.instanceUuid': '5011BBBB-0000-4000-8000-000000000002',
  'config.hardware': hardware(),
  'config.firmware': 'efi',
  'config.guestId': 'ubuntu64Guest',
  'config.guestFullName': 'Ubuntu Linux (64-bit)',
  'runtime.powerState': 'poweredOn',
  'runtime.host': '<val type="HostSystem">host-9</val>',
  resourcePool: '<val type="ResourcePool">resgroup-8</val>',
}

const facts = (
  properties: Record<string, string> = {},
  attributes: readonly (readonly [string, string])[] = [],
) =>
  readInstance(imaginedObject('VirtualMachine', 'vm-31', { ...usual, ...properties }), {
    tree: imaginedTree(),
    attributes: new Map(attributes),
    tags: new Map([['vm-31', { tier: ['gold', 'prod'] }]]),
  })

test('a machine is told with its place, its names and its tags', () => {
  expect(facts()).toMatchObject({
    ref: 'vm-31',
    uuid: '5011bbbb-0000-4000-8000-000000000002',
    bios_uuid: '4211aaaa-0000-4000-8000-000000000001',
    name: 'web/01',
    location: '/Paris/vm/shop%2fweb/web%2f01',
    folder: '/Paris/vm/shop%2fweb',
    datacenter: 'Paris',
    cluster: 'Gold',
    host: 'esx1.example.org',
    resource_pool: 'Resources',
    cpus: 4,
    memory: 8 * 1024 ** 3,
    power_state: 'on',
    running: true,
    legacy_boot: false,
    architecture: 'x86_64',
    tags: { tier: ['gold', 'prod'] },
  })
})

test('what is told of a machine can be stored as it is', () => {
  expect(cleanInstance(facts()).problems).toEqual([])
})

test('a machine of a vApp has the place of the vApp', () => {
  const { parent: _parent, ...rest } = usual
  const object = imaginedObject('VirtualMachine', 'vm-31', {
    ...rest,
    parentVApp: '<val type="VirtualApp">resgroup-v20</val>',
  })
  const around = { tree: imaginedTree(), attributes: new Map(), tags: new Map() }
  expect(readInstance(object, around)).toMatchObject({
    location: '/Paris/vm/erp/web%2f01',
    datacenter: 'Paris',
  })
})

test('a disk under snapshots keeps the name of its base and the change id of its top', () => {
  const parent = (depth: number): string =>
    `<parent xsi:type="VirtualDiskFlatVer2BackingInfo"><fileName>[fast] web/disk${depth === 0 ? '' : `-00000${depth}`}.vmdk</fileName>
     <datastore type="Datastore">datastore-15</datastore>${depth === 0 ? '' : parent(depth - 1)}</parent>`
  const disk = device(
    'VirtualDisk',
    `<key>2000</key><backing xsi:type="VirtualDiskFlatVer2BackingInfo"><fileName>[fast] web/disk-000003.vmdk</fileName>
     <datastore type="Datastore">datastore-15</datastore><diskMode>persistent</diskMode><thinProvisioned>true</thinProvisioned>
     <changeId>52 3c 7a/12</changeId>${parent(2)}</backing><controllerKey>1000</controllerKey>
     <capacityInKB>10</capacityInKB><capacityInBytes>10737418240</capacityInBytes>`,
  )
  const layoutEx = `<val><file><key>1</key><type>diskExtent</type><size>100</size></file>
    <file><key>2</key><type>diskDescriptor</type><size>7</size></file><file><key>3</key><type>diskExtent</type><size>50</size></file>
    <disk><key>2000</key><chain><fileKey>1</fileKey><fileKey>2</fileKey></chain><chain><fileKey>3</fileKey></chain></disk></val>`
  expect(facts({ 'config.hardware': hardware(disk), layoutEx }).disks).toEqual([
    {
      key: '2000',
      label: 'VirtualDisk',
      name: '[fast] web/disk.vmdk',
      capacity: 10_737_418_240,
      used: 150,
      backing: 'file',
      mode: 'dependent',
      shared: false,
      encrypted: false,
      thin: true,
      datastore: 'fast',
      change_id: '52 3c 7a/12',
    },
  ])
})

const diskOf = (backing: string, more = '', ...others: string[]) =>
  facts({ 'config.hardware': hardware(device('VirtualDisk', `${backing}${more}`), ...others) }).disks[0]

test.each([
  ['VirtualDiskRawDiskMappingVer1BackingInfo', 'raw-mapping'],
  ['VirtualDiskRawDiskVer2BackingInfo', 'raw'],
  ['VirtualDiskPartitionedRawDiskVer2BackingInfo', 'raw'],
  ['VirtualDiskSeSparseBackingInfo', 'file'],
  ['VirtualDiskSomethingNewBackingInfo', 'unknown'],
])('a disk with %s is %s', (type, backing) => {
  expect(diskOf(`<backing xsi:type="${type}"><fileName>[fast] a.vmdk</fileName></backing>`)).toMatchObject({
    backing,
    datastore: 'fast',
  })
})

test.each([
  ['VirtualDiskFlatVer2BackingInfo', '', undefined],
  [
    'VirtualDiskFlatVer2BackingInfo',
    '<keyId><keyId>k</keyId></keyId>',
    'is encrypted, and its files hold no plain data',
  ],
  [
    'VirtualDiskSparseVer2BackingInfo',
    '',
    'is stored as VirtualDiskSparseVer2BackingInfo, which is not read',
  ],
  ['VirtualDiskRawDiskVer2BackingInfo', '', undefined],
])('a disk with %s%s says whether its files can be read: %s', (type, more, unreadable) => {
  const backing = `<backing xsi:type="${type}"><fileName>[fast] a.vmdk</fileName>${more}</backing>`
  expect(diskOf(backing)?.unreadable).toBe(unreadable)
})

test.each([
  ['persistent', 'dependent'],
  ['independent_persistent', 'independent'],
  ['independent_nonpersistent', 'independent'],
  ['undoable', 'unknown'],
])('mode %s is %s', (diskMode, mode) => {
  expect(diskOf(`<backing><diskMode>${diskMode}</diskMode></backing>`)?.mode).toBe(mode)
})

test('a disk that others may write to is shared, by itself or by its controller', () => {
  expect(diskOf('<backing><sharing>sharingMultiWriter</sharing></backing>')?.shared).toBe(true)
  expect(diskOf('<backing><sharing>sharingNone</sharing></backing>')?.shared).toBe(false)
  const bus = device('ParaVirtualSCSIController', '<key>1000</key><sharedBus>physicalSharing</sharedBus>')
  expect(diskOf('<backing/>', '<controllerKey>1000</controllerKey>', bus)?.shared).toBe(true)
  expect(diskOf('<backing/>', '<controllerKey>1001</controllerKey>', bus)?.shared).toBe(false)
})

test('an encrypted disk of an encrypted machine is told as such', () => {
  const key = '<keyId><keyId>k1</keyId></keyId>'
  expect(diskOf(`<backing>${key}</backing>`)?.encrypted).toBe(true)
  expect(facts({ 'config.keyId': `<val>${key}</val>` }).encrypted).toBe(true)
  expect(facts().encrypted).toBe(false)
})

const nicOf = (backing: string) => {
  const nic = device(
    'VirtualVmxnet3',
    `<key>4000</key>${backing}<connectable><connected>true</connected></connectable><macAddress>00:50:56:AA:BB:CC</macAddress>`,
  )
  return facts({ 'config.hardware': hardware(nic) }).nics[0]
}

test('cards name standard, distributed and NSX networks by the refs that these have', () => {
  expect(
    nicOf(
      '<backing xsi:type="VirtualEthernetCardNetworkBackingInfo"><deviceName>VM Network</deviceName><network type="Network">network-11</network></backing>',
    ),
  ).toMatchObject({ network_ref: 'network-11', network: 'VM Network', type: 'vmxnet3', connected: true })
  expect(
    nicOf(
      '<backing xsi:type="VirtualEthernetCardDistributedVirtualPortBackingInfo"><port><switchUuid>50 11</switchUuid><portgroupKey>dvportgroup-12</portgroupKey></port></backing>',
    ),
  ).toMatchObject({ network_ref: 'dvportgroup-12', network: 'shop', mac: '00:50:56:aa:bb:cc' })
  expect(
    nicOf(
      '<backing xsi:type="VirtualEthernetCardOpaqueNetworkBackingInfo"><opaqueNetworkId>b7b5-opaque</opaqueNetworkId><opaqueNetworkType>nsx.LogicalSwitch</opaqueNetworkType></backing>',
    ),
  ).toMatchObject({ network_ref: 'network-o13', network: 'seg-web' })
})

test('a card whose network has only a name is found by it, and one on an unseen network keeps its key', () => {
  expect(nicOf('<backing><deviceName>VM Network</deviceName></backing>')?.network_ref).toBe('network-11')
  expect(nicOf('<backing><port><portgroupKey>dvportgroup-99</portgroupKey></port></backing>')).toMatchObject({
    network_ref: 'dvportgroup-99',
    network: '',
  })
})

test('addresses come from the agent inside, without those that reach nowhere', () => {
  const nic = device('VirtualE1000', '<key>4000</key><macAddress>00:50:56:00:00:01</macAddress>')
  const guest = `<val xsi:type="ArrayOfGuestNicInfo"><GuestNicInfo><macAddress>00:50:56:00:00:01</macAddress><ipAddress>10.0.0.5</ipAddress>
    <deviceConfigId>4000</deviceConfigId><ipConfig><ipAddress><ipAddress>10.0.0.5</ipAddress><prefixLength>24</prefixLength></ipAddress>
    <ipAddress><ipAddress>fe80::1</ipAddress></ipAddress><ipAddress><ipAddress>2001:db8::5</ipAddress></ipAddress>
    <ipAddress><ipAddress>169.254.3.4</ipAddress></ipAddress></ipConfig></GuestNicInfo></val>`
  expect(facts({ 'config.hardware': hardware(nic), 'guest.net': guest }).nics[0]).toMatchObject({
    ipv4_addresses: ['10.0.0.5'],
    ipv6_addresses: ['2001:db8::5'],
  })
})

test('devices that cannot simply go along are listed, everyday ones are not', () => {
  const plugged = '<connectable><connected>true</connected></connectable>'
  const { devices, tpm } = facts({
    'config.hardware': hardware(
      device('VirtualTPM', '<key>11000</key>'),
      device('VirtualPCIPassthrough', '<backing xsi:type="VirtualPCIPassthroughDynamicBackingInfo"/>'),
      device(
        'VirtualPCIPassthrough',
        '<backing xsi:type="VirtualPCIPassthroughVmiopBackingInfo"><vgpu>grid</vgpu></backing>',
      ),
      device('VirtualSriovEthernetCard', '<key>4001</key><macAddress>00:50:56:00:00:02</macAddress>'),
      device('VirtualUSB', plugged),
      device('VirtualCdrom', '<connectable><connected>false</connected></connectable>'),
      device('VirtualNVDIMM', ''),
      device('VirtualKeyboard', ''),
      device('ParaVirtualSCSIController', ''),
    ),
  })
  expect(tpm).toBe(true)
  expect(devices.map(({ kind, connected }) => [kind, connected])).toEqual([
    ['tpm', true],
    ['pci-passthrough', true],
    ['vgpu', true],
    ['sriov-nic', true],
    ['usb', true],
    ['cdrom', false],
    ['nvdimm', true],
  ])
})

test('snapshots come as a tree by their parents', () => {
  const snapshot = (id: string, name: string, inside = '') =>
    `<snapshot type="VirtualMachineSnapshot">${id}</snapshot><name>${name}</name><createTime>2026-01-02T03:04:05Z</createTime><state>poweredOn</state>${inside}`
  const value = `<val><currentSnapshot type="VirtualMachineSnapshot">snapshot-3</currentSnapshot><rootSnapshotList>${snapshot(
    'snapshot-1',
    'before%2fpatch',
    `<childSnapshotList>${snapshot('snapshot-2', 'a')}</childSnapshotList><childSnapshotList>${snapshot('snapshot-3', 'b')}</childSnapshotList>`,
  )}</rootSnapshotList></val>`
  expect(facts({ snapshot: value }).snapshots.map(({ ref, name, parent }) => [ref, name, parent])).toEqual([
    ['snapshot-1', 'before/patch', null],
    ['snapshot-2', 'a', 'snapshot-1'],
    ['snapshot-3', 'b', 'snapshot-1'],
  ])
})

const extra = (key: string, value: string) =>
  `<val xsi:type="ArrayOfOptionValue"><OptionValue><key>other</key><value>x</value></OptionValue><OptionValue><key>${key}</key><value>${value}</value></OptionValue></val>`

test('the guest says what it is, whatever the machine was made for', () => {
  const detailed =
    "architecture='Arm' bitness='64' distroName='Debian GNU/Linux' prettyName='Debian GNU/Linux 12 (bookworm)' familyName='Linux'"
  expect(facts({ 'config.extraConfig': extra('guestInfo.detailed.data', detailed) })).toMatchObject({
    os: 'Debian GNU/Linux',
    os_description: 'Debian GNU/Linux 12 (bookworm)',
    os_template: 'Ubuntu Linux (64-bit)',
    architecture: 'aarch64',
  })
})

test.each([
  ['guestToolsRunning', '', 'running'],
  ['guestToolsNotRunning', 'guestToolsNotInstalled', 'not-installed'],
  ['guestToolsNotRunning', 'guestToolsCurrent', 'not-running'],
  ['', '', 'unknown'],
])('an agent that is %s and %s is %s', (running, version, agent) => {
  const read = facts({ 'guest.toolsRunningStatus': running, 'guest.toolsVersionStatus2': version })
  expect(read.guest.agent).toBe(agent)
})

test('machines of vSphere itself are appliances', () => {
  const managed = (key: string) => `<val><extensionKey>${key}</extensionKey><type>cluster-agent</type></val>`
  expect(facts({ 'config.managedBy': managed('com.vmware.vim.eam') }).appliance).toBe(true)
  expect(facts({ 'config.extraConfig': extra('HDCS.agent', 'TRUE') }).appliance).toBe(true)
  const product = '<val><name>VMware vCenter Server Appliance</name></val>'
  expect(facts({ 'summary.config.product': product }).appliance).toBe(true)
  expect(facts({ 'config.managedBy': managed('com.example.backup') }).appliance).toBe(false)
})

test('custom attributes come by their names, and one whose name is gone is left out', () => {
  const customValue = `<val><CustomFieldValue xsi:type="CustomFieldStringValue"><key>101</key><value>Ann</value></CustomFieldValue>
    <CustomFieldValue xsi:type="CustomFieldStringValue"><key>102</key><value>x</value></CustomFieldValue>
    <CustomFieldValue xsi:type="CustomFieldStringValue"><key>103</key><value>odd</value></CustomFieldValue></val>`
  const read = facts({ customValue }, [
    ['101', 'owner'],
    ['103', '__proto__'],
  ])
  expect(Object.entries(read.attributes)).toEqual([
    ['owner', 'Ann'],
    ['__proto__', 'odd'],
  ])
})

test('protection and pending work are told', () => {
  expect(
    facts({
      'runtime.faultToleranceState': 'running',
      'runtime.consolidationNeeded': 'true',
      'config.changeTrackingEnabled': 'true',
      'config.cpuHotAddEnabled': 'true',
      'config.memoryHotAddEnabled': 'true',
      'config.template': 'true',
      'config.bootOptions': '<val><efiSecureBootEnabled>true</efiSecureBootEnabled></val>',
    }),
  ).toMatchObject({
    fault_tolerant: true,
    needs_consolidation: true,
    background_import: true,
    cpu_hot_plug: true,
    memory_hot_plug: true,
    template: true,
    secure_boot: true,
  })
  expect(facts({ 'runtime.faultToleranceState': 'notConfigured' }).fault_tolerant).toBe(false)
})

test('a machine whose configuration cannot be read is refused with its name and the reason', () => {
  const { 'config.hardware': _hardware, ...rest } = usual
  const around = { tree: imaginedTree(), attributes: new Map(), tags: new Map() }
  const object = imaginedObject('VirtualMachine', 'vm-31', {
    ...rest,
    'runtime.connectionState': 'inaccessible',
  })
  expect(() => readInstance(object, around)).toThrow('"web/01" cannot be read: vSphere calls it inaccessible')
  const denied = { ...object, missing: new Map([['config.hardware', { type: 'NoPermission', message: '' }]]) }
  expect(() => readInstance(denied, around)).toThrow('may not read')
})

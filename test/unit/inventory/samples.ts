import type { DiskFacts, InstanceFacts, NetworkFacts, NicFacts } from '../../../src/domain/inventory/facts.ts'
import { applyOverrides, type InstanceOverrides } from '../../../src/domain/inventory/overrides.ts'
import { countFleet } from '../../../src/domain/inventory/rules/evaluate.ts'
import type { RuleContext } from '../../../src/domain/inventory/rules/rule.ts'

export const sampleNic = (changes: Partial<NicFacts> = {}): NicFacts => ({
  key: '4000',
  label: 'Network adapter 1',
  mac: '00:50:56:aa:00:01',
  connected: true,
  network_ref: 'network-7',
  network: 'shop',
  type: 'vmxnet3',
  ipv4_addresses: ['10.1.0.7'],
  ipv6_addresses: [],
  ...changes,
})

export const sampleDisk = (changes: Partial<DiskFacts> = {}): DiskFacts => ({
  key: '2000',
  label: 'Hard disk 1',
  name: '[ssd] web-01/web-01.vmdk',
  capacity: 40 * 2 ** 30,
  used: 9 * 2 ** 30,
  backing: 'file',
  mode: 'dependent',
  shared: false,
  encrypted: false,
  thin: true,
  datastore: 'ssd',
  change_id: '52 aa/7',
  ...changes,
})

/** An ordinary machine that nothing is wrong with. */
export const sampleInstance = (changes: Partial<InstanceFacts> = {}): InstanceFacts => ({
  ref: 'vm-101',
  uuid: '5029aaaa-1111-2222-3333-444455556666',
  bios_uuid: '4229bbbb-1111-2222-3333-444455556666',
  name: 'web-01',
  location: '/Paris/vm/shop/web-01',
  description: 'front end',
  template: false,
  appliance: false,
  power_state: 'on',
  running: true,
  os: 'Ubuntu',
  os_description: 'Ubuntu 22.04.3 LTS',
  os_template: 'Ubuntu Linux (64-bit)',
  architecture: 'x86_64',
  cpus: 2,
  memory: 4 * 2 ** 30,
  cpu_hot_plug: false,
  memory_hot_plug: false,
  legacy_boot: false,
  secure_boot: false,
  tpm: false,
  encrypted: false,
  hardware_version: 'vmx-19',
  cluster: 'prod',
  host: 'esx-1',
  resource_pool: 'gold',
  folder: '/Paris/vm/shop',
  datacenter: 'Paris',
  background_import: true,
  needs_consolidation: false,
  fault_tolerant: false,
  nics: [sampleNic()],
  disks: [sampleDisk()],
  snapshots: [],
  devices: [],
  guest: { agent: 'running', agent_version: '12.3', hostname: 'web-01.shop.example' },
  tags: { env: ['prod'], team: ['shop', 'web'] },
  attributes: { owner: 'ada' },
  ...changes,
})

export const sampleNetwork = (changes: Partial<NetworkFacts> = {}): NetworkFacts => ({
  ref: 'network-7',
  name: 'shop',
  location: '/Paris/network/shop front',
  type: 'standard',
  datacenter: 'Paris',
  switch: 'vSwitch0',
  vlan: '',
  segment_id: '',
  subnets: [],
  accessible: true,
  ...changes,
})

export const sampleContext = (changes: Partial<RuleContext> = {}): RuleContext => ({
  overrides: {},
  tracking: { 2000: 'verified' },
  fleet: countFleet([]),
  datastoreAccessible: () => true,
  ...changes,
})

export const effective = (changes: Partial<InstanceFacts> = {}, overrides: InstanceOverrides = {}) =>
  applyOverrides(sampleInstance(changes), overrides)

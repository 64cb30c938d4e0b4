import type { NicFacts } from '../../domain/inventory/facts.ts'
import type { Change } from '../model/context.ts'
import { addMachine } from '../tasks/machine-spec.ts'
import type { WorldMaker } from './make-world.ts'
import { addHost, addNetwork, addStorage } from './places.ts'
import { machineSpec, macOf, type ShortMachine, TiB, uuidOf } from './short-form.ts'
import { addSourcePlaces, sourceForm } from './small.ts'

/** Everything odd that was ever seen at a source, at two of them, and a target without surprises. */
export const makeBroken = async (maker: WorldMaker): Promise<void> => {
  for (const name of ['left', 'right']) {
    const site = await maker.site({
      name,
      kind: 'source',
      product: 'Drover Lab Center',
      version: '7.0.3',
      instanceId: uuidOf(maker.seed, name),
    })
    await addSourcePlaces(site)
    const form = sourceForm(maker.seed, name)
    for (const short of name === 'left' ? leftMachines() : rightMachines())
      await addMachine(site, machineSpec(form, { host: 'host-11', ...short }))
  }
  await makeTarget(
    await maker.site({
      name: 'cloud',
      kind: 'target',
      product: 'Drover Lab Cloud',
      version: '6.0',
      instanceId: uuidOf(maker.seed, 'cloud'),
    }),
  )
}

const makeTarget = async (site: Change): Promise<void> => {
  const hosts = ['node-1', 'node-2']
  for (const ref of hosts)
    await addHost(site, { ref, name: ref, cluster: 'cloud', datacenter: 'cloud', memoryGib: 64 })
  await addNetwork(site, { ref: 'bridge', name: 'bridge', datacenter: 'cloud', type: 'bridge' })
  await addStorage(site, { ref: 'local', name: 'local', type: 'zfs', capacity: 4 * TiB, hosts })
}

const debian = { os: 'debian-12', osText: 'Debian GNU/Linux 12 (bookworm)' }
const base = { folder: '/Paris/vm', network: 'network-21', ...debian }
const twinUuid = '4201aaaa-0000-4000-8000-000000000001'

const nic = (facts: Partial<NicFacts>): NicFacts => ({
  key: '4000',
  label: 'Network adapter 1',
  mac: macOf('clash'),
  connected: true,
  network_ref: 'network-21',
  network: 'VM Network',
  type: 'vmxnet3',
  ipv4_addresses: [],
  ipv6_addresses: [],
  ...facts,
})

/** What a list of strings must survive. */
const hostile: readonly (readonly [string, string])[] = [
  ['nul', 'before\u0000after'],
  ['half-surrogate', 'broken \ud83d emoji'],
  ['html', '<script>alert("x")</script><img src=x onerror=alert(1)>'],
  ['quotes', `'; drop table instance; -- "\\`],
  ['direction', 'photo\u202egpj.exe'],
  ['zero-width', 'ad\u200bmin\ufeff'],
  ['combining', `Z${'\u0351\u036b\u0343'.repeat(30)}`],
  ['family', '👨‍👩‍👧‍👦 서버 сервер خادم'],
  ['control', 'line one\r\nline two\t\u001b[31mred\u0007'],
  ['path', '../../../etc/passwd'],
  ['cel', '" || true || name == "'],
  ['csv', '=cmd|\' /C calc\'!A0,"x"'],
  ['blank', '   '],
  ['long', 'n'.repeat(100 * 1024)],
]

const hostileMachines = (): ShortMachine[] =>
  hostile.map(([kind, name], index) => ({
    ...base,
    ref: `vm-3${String(index).padStart(2, '0')}`,
    name,
    tags: { [kind]: [name.slice(0, 500)] },
    attributes: { [name.slice(0, 200)]: name.slice(0, 2_000) },
    ip: `192.0.2.${30 + index}`,
    facts: {
      description: kind === 'long' ? 'd'.repeat(1024 * 1024) : `a name with ${kind}: ${name.slice(0, 200)}`,
    },
  }))

const leftMachines = (): ShortMachine[] => [
  { ...base, ref: 'vm-1', name: 'plain', ip: '192.0.2.1' },
  { ...base, ref: 'vm-2', name: 'same-uuid', uuid: twinUuid, ip: '192.0.2.2' },
  { ...base, ref: 'vm-3', name: 'same-uuid-here', uuid: twinUuid, ip: '192.0.2.3' },
  { ...base, ref: 'vm-4', name: 'golden', template: true },
  {
    ...base,
    ref: 'vm-5',
    name: 'vCLS-7c1f',
    facts: { appliance: true },
    disksGib: [2],
    nics: [],
    agent: 'not-installed',
  },
  {
    ...base,
    ref: 'vm-6',
    name: 'vcenter',
    facts: { appliance: true, os: 'photon-4', os_description: 'VMware Photon OS (64-bit)' },
  },
  { ...base, ref: 'vm-7', name: 'no-config', traits: { unreadable: 'platform-answer-invalid' } },
  { ...base, ref: 'vm-8', name: 'no-permission', traits: { unreadable: 'platform-permission' } },
  { ...base, ref: 'vm-9', name: 'never-answers', traits: { unreadable: 'platform-timeout' } },
  { ...base, ref: 'vm-10', name: 'no-uuid', uuid: '' },
  { ...base, ref: 'vm-11', name: 'loud-uuid', uuid: '4201BBBB-0000-4000-8000-00000000000B' },
  {
    ...base,
    ref: 'vm-12',
    name: 'unknown-network',
    nics: [nic({ network_ref: 'dvportgroup-999', network: '' })],
  },
  { ...base, ref: 'vm-13', name: 'no-network', nics: [nic({ network_ref: '', network: '' })] },
  { ...base, ref: 'vm-14', name: 'no-nic', nics: [] },
  { ...base, ref: 'vm-15', name: 'no-disk', disksGib: [] },
  { ...base, ref: 'vm-16', name: 'rdm', disk: { backing: 'raw-mapping' } },
  { ...base, ref: 'vm-17', name: 'shared', disk: { shared: true } },
  { ...base, ref: 'vm-18', name: 'independent', disk: { mode: 'independent' } },
  {
    ...base,
    ref: 'vm-19',
    name: 'who-knows',
    disk: { backing: 'unknown', mode: 'unknown', thin: null, used: null },
  },
  { ...base, ref: 'vm-20', name: 'sealed', facts: { encrypted: true }, disk: { encrypted: true } },
  { ...base, ref: 'vm-21', name: 'clash-a', nics: [nic({})] },
  { ...base, ref: 'vm-22', name: 'clash-b', nics: [nic({})] },
  {
    ...base,
    ref: 'vm-23',
    name: 'odd-mac',
    nics: [nic({ mac: '00-50-56-AA-BB-CC' }), nic({ key: '4001', mac: '' })],
  },
  {
    ...base,
    ref: 'vm-24',
    name: 'devices',
    devices: [
      { kind: 'pci-passthrough', label: 'nvidia-a16', connected: true },
      { kind: 'vgpu', label: 'grid_a16-4q', connected: true },
      { kind: 'usb', label: 'dongle', connected: true },
      { kind: 'sriov-nic', label: 'sriov', connected: true },
      { kind: 'serial', label: 'Serial port 1', connected: true },
      { kind: 'nvdimm', label: 'NVDIMM 1', connected: true },
      { kind: 'floppy', label: 'Floppy drive 1', connected: false },
    ],
  },
  { ...base, ref: 'vm-25', name: 'chatty', facts: { description: 'a'.repeat(2 * 1024 * 1024) } },
  {
    ...base,
    ref: 'vm-26',
    name: 'many-tags',
    tags: { all: Array.from({ length: 2_000 }, (_, n) => `tag-${n}`) },
  },
  {
    ...base,
    ref: 'vm-27',
    name: 'no-os',
    os: '',
    osText: '',
    facts: { os_template: '' },
    agent: 'not-installed',
  },
  { ...base, ref: 'vm-28', name: 'no-size', facts: { cpus: 0, memory: 0 } },
  { ...base, ref: 'vm-29', name: 'nested', folder: `/Paris/vm${'/deep'.repeat(60)}` },
  { ...base, ref: 'vm-30', name: 'plain', folder: '/Paris/vm/other', ip: '192.0.2.1' },
  { ...base, ref: 'vm-31', name: 'ft', facts: { fault_tolerant: true, needs_consolidation: true } },
  ...hostileMachines(),
]

const rightMachines = (): ShortMachine[] => [
  { ...base, ref: 'vm-1', name: 'plain', ip: '192.0.2.129' },
  { ...base, ref: 'vm-2', name: 'same-uuid', uuid: twinUuid, power: 'off' },
  { ...base, ref: 'vm-3', name: 'clash-c', nics: [nic({})] },
  { ...base, ref: 'vm-4', name: 'empty', rawFacts: { ref: 'vm-4' } },
  {
    ...base,
    ref: 'vm-5',
    name: 'nulls',
    rawFacts: { ref: 'vm-5', name: null, uuid: null, nics: null, disks: null },
  },
  {
    ...base,
    ref: 'vm-6',
    name: 'wrong-types',
    rawFacts: {
      ref: 'vm-6',
      name: 6,
      uuid: {},
      cpus: 'four',
      memory: -1,
      disks: 'none',
      nics: [null],
      tags: [],
    },
  },
]

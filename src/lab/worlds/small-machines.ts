import type { NicFacts } from '../../domain/inventory/facts.ts'
import { macOf, type ShortMachine } from './short-form.ts'

const debian = { os: 'debian-12', osText: 'Debian GNU/Linux 12 (bookworm)' }
const ubuntu = { os: 'ubuntu-22.04', osText: 'Ubuntu 22.04.4 LTS' }
const rhel = { os: 'rhel-9', osText: 'Red Hat Enterprise Linux 9.3 (Plow)' }
const server = { os: 'windows-2022', osText: 'Microsoft Windows Server 2022 (64-bit)' }
const shop = { folder: '/Paris/vm/shop', network: 'dvportgroup-22' }
const office = { folder: '/Paris/vm/office', network: 'dvportgroup-23' }
const odd = { folder: '/Paris/vm/odd', network: 'network-21' }
const tier = (name: string, env = 'production') => ({ tags: { tier: [name], env: [env] } })

/** What a shop and its office have. All of these can be moved as they are. */
const plain: readonly ShortMachine[] = [
  {
    ref: 'vm-101',
    name: 'web-01',
    ...shop,
    ...debian,
    ...tier('web'),
    ip: '192.0.2.11',
    ports: [22, 80, 443],
  },
  {
    ref: 'vm-102',
    name: 'web-02',
    ...shop,
    ...debian,
    ...tier('web'),
    ip: '192.0.2.12',
    ports: [22, 80, 443],
  },
  {
    ref: 'vm-103',
    name: 'db-01',
    ...shop,
    ...rhel,
    ...tier('db'),
    ip: '192.0.2.21',
    ports: [22, 5432],
    cpus: 8,
    memoryGib: 32,
    disksGib: [40, 200],
    dataMib: 9,
    writes: { blocks: 32, every_ms: 250 },
    attributes: { owner: 'payments', 'cost-centre': '4711' },
  },
  {
    ref: 'vm-104',
    name: 'cache-01',
    ...shop,
    ...ubuntu,
    ...tier('cache'),
    ip: '192.0.2.31',
    ports: [22, 6379],
  },
  {
    ref: 'vm-105',
    name: 'files-01',
    ...office,
    ...server,
    ...tier('files'),
    ip: '198.51.100.11',
    ports: [445, 3389],
    disksGib: [60, 2_048],
    memoryGib: 8,
    facts: { secure_boot: true },
  },
  {
    ref: 'vm-106',
    name: 'ad-01',
    ...office,
    ...server,
    ...tier('identity'),
    ip: '198.51.100.12',
    ports: [53, 389, 3389],
  },
  {
    ref: 'vm-107',
    name: 'desk-07',
    ...office,
    os: 'windows-11',
    osText: 'Microsoft Windows 11 Pro 23H2',
    ip: '198.51.100.107',
    ports: [3389],
    facts: { secure_boot: true, tpm: true },
    devices: [{ kind: 'tpm', label: 'Virtual TPM', connected: true }],
  },
  {
    ref: 'vm-108',
    name: 'gate-01',
    folder: '/Paris/vm/network',
    network: 'nsx-24',
    os: 'freebsd-14',
    osText: 'FreeBSD 14.0-RELEASE',
    ip: '203.0.113.1',
    cpus: 1,
    memoryGib: 1,
    disksGib: [8],
    facts: { legacy_boot: true },
  },
  {
    ref: 'vm-109',
    name: 'mail-01',
    ...office,
    os: 'openbsd-7.4',
    osText: 'OpenBSD 7.4',
    ip: '198.51.100.25',
    ports: [22, 25, 993],
  },
  {
    ref: 'vm-110',
    name: 'build-01',
    ...shop,
    os: 'suse-15',
    osText: 'SUSE Linux Enterprise Server 15 SP5',
    ip: '192.0.2.41',
    cpus: 16,
    memoryGib: 64,
    ...tier('ci', 'test'),
  },
  {
    ref: 'vm-111',
    name: 'wiki-01',
    ...office,
    os: 'centos-7',
    osText: 'CentOS Linux 7 (Core)',
    ip: '198.51.100.33',
    ports: [22, 443],
    facts: { legacy_boot: true },
  },
  {
    ref: 'vm-112',
    name: 'shop-test',
    ...shop,
    ...debian,
    ...tier('web', 'test'),
    power: 'off',
    disksGib: [20],
  },
  {
    ref: 'vm-113',
    name: 'report-01',
    ...office,
    os: 'oracle-8',
    osText: 'Oracle Linux 8.9',
    power: 'suspended',
    ip: '198.51.100.44',
  },
]

/** What rules and operators have to find. */
const troubled: readonly ShortMachine[] = [
  {
    ref: 'vm-201',
    name: 'erp-rdm',
    ...odd,
    ...rhel,
    ip: '192.0.2.201',
    disk: { backing: 'raw-mapping' },
  },
  {
    ref: 'vm-202',
    name: 'scan-independent',
    ...odd,
    ...debian,
    ip: '192.0.2.202',
    disk: { mode: 'independent' },
  },
  {
    ref: 'vm-203',
    name: 'gpu-01',
    ...odd,
    ...ubuntu,
    ip: '192.0.2.203',
    host: 'host-12',
    devices: [{ kind: 'pci-passthrough', label: 'nvidia-a16', connected: true }],
  },
  { ref: 'vm-204', name: 'mute', ...odd, ...debian, agent: 'not-installed', ports: [] },
  {
    ref: 'vm-205',
    name: 'relic',
    ...odd,
    os: '',
    osText: 'Other (32-bit)',
    agent: 'not-installed',
    facts: { os_template: 'otherGuest', architecture: 'i686', legacy_boot: true },
  },
  { ref: 'vm-206', name: 'twin-a', ...odd, ...debian, nics: twinNic('192.0.2.206'), ip: '192.0.2.206' },
  { ref: 'vm-207', name: 'twin-b', ...odd, ...debian, nics: twinNic('192.0.2.207'), ip: '192.0.2.207' },
  { ref: 'vm-208', name: 'cluster-disk', ...odd, ...server, ip: '192.0.2.208', disk: { shared: true } },
  { ref: 'vm-209', name: 'untracked', ...odd, ...debian, ip: '192.0.2.209', tracked: false },
  { ref: 'vm-210', name: 'stubborn', ...odd, ...ubuntu, ip: '192.0.2.210', shutdown: 'hangs' },
  {
    ref: 'vm-211',
    name: 'messy',
    ...odd,
    ...debian,
    ip: '192.0.2.211',
    facts: { needs_consolidation: true },
    devices: [{ kind: 'cdrom', label: 'CD/DVD drive 1', connected: true }],
  },
]

/** Two machines with one address of a card. */
function twinNic(ip: string): NicFacts[] {
  return [
    {
      key: '4000',
      label: 'Network adapter 1',
      mac: macOf('twins'),
      connected: true,
      network_ref: 'network-21',
      network: 'VM Network',
      type: 'vmxnet3',
      ipv4_addresses: [ip],
      ipv6_addresses: [],
    },
  ]
}

export const smallMachines: readonly ShortMachine[] = [...plain, ...troubled]

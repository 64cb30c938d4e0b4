import type {
  DiskFacts,
  HostFacts,
  InstanceFacts,
  NetworkFacts,
  NicFacts,
  StorageFacts,
} from '../../src/domain/inventory/facts.ts'
import type { InventoryItem, ScanEnd } from '../../src/platforms/ports/inventory.ts'
import { PlatformError } from '../../src/platforms/ports/platform-error.ts'
import type { Capability, Platform, PlatformIdentity } from '../../src/platforms/ports/ports.ts'

const nicOf = (number: number, hex: string): NicFacts => ({
  key: '4000',
  label: 'Network adapter 1',
  mac: `00:50:56:${hex.slice(-6).replace(/(..)(?=.)/g, '$1:')}`,
  connected: true,
  network_ref: 'net-1',
  network: 'VM Network',
  type: 'vmxnet3',
  ipv4_addresses: [`10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`],
  ipv6_addresses: [],
})

const diskOf = (name: string): DiskFacts => ({
  key: '2000',
  label: 'Hard disk 1',
  name: `[ds-1] ${name}/${name}.vmdk`,
  capacity: 2 ** 34,
  used: 2 ** 32,
  backing: 'file',
  mode: 'dependent',
  shared: false,
  encrypted: false,
  thin: true,
  datastore: 'ds-1',
  change_id: null,
})

/** Facts of an instance with everything that a test does not care about. */
export const instanceFacts = (given: Partial<InstanceFacts> & { readonly ref: string }): InstanceFacts => {
  const number = Number(given.ref.replace(/\D/g, '')) || 1
  const hex = number.toString(16).padStart(12, '0')
  const name = given.name ?? `web-${number}`
  return {
    uuid: `50000000-0000-4000-8000-${hex}`,
    bios_uuid: `42000000-0000-4000-8000-${hex}`,
    name,
    location: `/Paris/vm/shop/${name}`,
    description: '',
    template: false,
    appliance: false,
    power_state: 'on',
    running: true,
    os: 'Debian GNU/Linux 12',
    os_description: 'Debian GNU/Linux 12 (bookworm)',
    os_template: 'Debian GNU/Linux 12 (64-bit)',
    architecture: 'x86_64',
    cpus: 2,
    memory: 2 ** 31,
    cpu_hot_plug: false,
    memory_hot_plug: false,
    legacy_boot: false,
    secure_boot: false,
    tpm: false,
    encrypted: false,
    hardware_version: 'vmx-19',
    cluster: 'c1',
    host: 'esx-1',
    resource_pool: 'Resources',
    folder: 'shop',
    datacenter: 'Paris',
    background_import: true,
    needs_consolidation: false,
    fault_tolerant: false,
    nics: [nicOf(number, hex)],
    disks: [diskOf(name)],
    snapshots: [],
    devices: [],
    guest: { agent: 'running', agent_version: '12', hostname: name },
    tags: {},
    attributes: {},
    ...given,
  }
}

export const networkFacts: NetworkFacts = {
  ref: 'net-1',
  name: 'VM Network',
  location: '/Paris/network/VM Network',
  type: 'standard',
  datacenter: 'Paris',
  switch: 'vSwitch0',
  vlan: '',
  segment_id: '',
  subnets: [],
  accessible: true,
}

export const hostFacts: HostFacts = {
  ref: 'host-1',
  name: 'esx-1',
  cluster: 'c1',
  datacenter: 'Paris',
  state: 'connected',
  cpu_model: 'EPYC',
  cpu_class: 'zen3',
  cpus: 64,
  memory: 2 ** 38,
  cpus_used: 8,
  memory_used: 2 ** 35,
  version: '8.0',
}

export const storageFacts: StorageFacts = {
  ref: 'ds-1',
  name: 'ds-1',
  type: 'vmfs',
  capacity: 2 ** 42,
  free: 2 ** 41,
  accessible: true,
  hosts: ['host-1'],
}

export const platformProblem = (
  code: PlatformError['code'],
  message = `It failed with ${code}.`,
): PlatformError =>
  new PlatformError({
    code: code as 'platform-fault',
    failure: 'unknown',
    message,
    remedy: 'Look at the platform.',
  })

/** A data centre in memory: what a reading shows is what a test has put there. */
export class ImaginedSite {
  readonly instances = new Map<string, InstanceFacts>()
  readonly networks = new Map([[networkFacts.ref, networkFacts]])
  readonly hosts = new Map([[hostFacts.ref, hostFacts]])
  readonly storage = new Map([[storageFacts.ref, storageFacts]])
  /** Instances whose reading fails. */
  readonly broken = new Map<string, PlatformError>()
  /** Instances that readings leave out without a word, although they are there. */
  readonly hidden = new Set<string>()
  readonly scans: ('full' | 'delta')[] = []
  identity: PlatformIdentity = { product: 'Imagined', version: '1', instance_id: 'imagined-1' }
  /** Called before each chunk of a reading, with the number of the chunk. */
  beforeChunk: (chunk: number) => void | Promise<void> = () => {}
  probeError: Error | undefined
  capabilities: Set<Capability> = new Set(['inventory', 'inventory-delta'])
  chunkSize = 3
  opened = 0
  closed = 0
  #log: { readonly at: number; readonly ref: string }[] = []

  /** Puts an instance there, or changes it. */
  put(given: Partial<InstanceFacts> & { readonly ref: string }): void {
    const before = this.instances.get(given.ref)
    this.instances.set(given.ref, before ? { ...before, ...given } : instanceFacts(given))
    this.touch(given.ref)
  }

  remove(ref: string): void {
    this.instances.delete(ref)
    this.touch(ref)
  }

  touch(ref: string): void {
    this.#log.push({ at: this.#log.length + 1, ref })
  }

  /** From here on no delta can go on from an earlier cursor. */
  forgetChanges(): void {
    this.#log = [...this.#log, { at: this.#log.length + 1, ref: '' }]
  }

  readonly open = (): Platform => {
    this.opened += 1
    return {
      kind: 'lab',
      capabilities: this.capabilities,
      ports: {
        inventory: {
          scan: () => this.#scan(),
          changes: (_call, options) => this.#changes(Number(options.cursor)),
          instance: (_call, ref) => {
            const broken = this.broken.get(ref)
            if (broken) return Promise.reject(broken)
            const value = this.instances.get(ref)
            return Promise.resolve(value ? { found: true, value } : { found: false })
          },
        },
      },
      probe: () => (this.probeError ? Promise.reject(this.probeError) : Promise.resolve(this.identity)),
      close: () => {
        this.closed += 1
        return Promise.resolve()
      },
    }
  }

  async *#scan(): AsyncGenerator<readonly InventoryItem[], ScanEnd> {
    this.scans.push('full')
    const cursor = String(this.#log.length)
    const things: InventoryItem[] = [
      ...[...this.networks.values()].map((facts) => ({ type: 'network' as const, facts })),
      ...[...this.hosts.values()].map((facts) => ({ type: 'host' as const, facts })),
      ...[...this.storage.values()].map((facts) => ({ type: 'storage' as const, facts })),
      ...[...this.instances.keys()].filter((ref) => !this.hidden.has(ref)).map((ref) => this.#item(ref)),
    ]
    yield* this.#chunks(things)
    return { cursor }
  }

  async *#changes(from: number): AsyncGenerator<readonly InventoryItem[], ScanEnd> {
    this.scans.push('delta')
    const news = this.#log.slice(from)
    if (news.some(({ ref }) => ref === '')) throw platformProblem('platform-cursor-lost')
    yield* this.#chunks([...new Set(news.map(({ ref }) => ref))].map((ref) => this.#item(ref)))
    return { cursor: String(this.#log.length) }
  }

  async *#chunks(items: readonly InventoryItem[]): AsyncGenerator<readonly InventoryItem[], void> {
    for (let at = 0, chunk = 1; at < items.length; at += this.chunkSize, chunk += 1) {
      await this.beforeChunk(chunk)
      yield items.slice(at, at + this.chunkSize)
    }
  }

  #item(ref: string): InventoryItem {
    if (this.hidden.has(ref)) return { type: 'gone', of: 'instance', ref }
    const error = this.broken.get(ref)
    if (error) return { type: 'problem', of: 'instance', ref, name: '', error }
    const facts = this.instances.get(ref)
    return facts ? { type: 'instance', facts } : { type: 'gone', of: 'instance', ref }
  }
}

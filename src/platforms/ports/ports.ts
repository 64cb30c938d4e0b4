import type { Call } from './call.ts'
import type { DisksPort } from './disks.ts'
import type { GuestPort } from './guest.ts'
import type { HibernatePort, LiveMovePort } from './hibernate.ts'
import type { InventoryPort } from './inventory.ts'
import type { MachinesPort } from './machines.ts'
import { unsupported } from './platform-error.ts'
import type { PowerPort } from './power.ts'
import type { TemplatesPort } from './templates.ts'

/**
 * What the rest of Drover knows of any platform. A platform has the ports of what it can do and lacks the others;
 * a gap inside a port throws `unsupported`. One contract suite (test/contract/platform.ts) runs against all.
 */
export interface Ports {
  readonly inventory: InventoryPort
  readonly power: PowerPort
  readonly machines: MachinesPort
  readonly disks: DisksPort
  readonly templates: TemplatesPort
  readonly hibernate: HibernatePort
  readonly liveMove: LiveMovePort
  readonly guest: GuestPort
}

/** Finer than ports, because platforms have half of one: what is promised, and what the contract suite asks for. */
export const capabilities = [
  'inventory',
  'inventory-delta',
  'power',
  'guest-shutdown',
  'suspend',
  'create',
  'rename',
  'reconfigure',
  'clone',
  'snapshots',
  'ownership-tags',
  'read-disks',
  'write-disks',
  'changed-blocks',
  'templates',
  'import-image',
  'hibernate',
  'live-move',
  'guest-facts',
  'port-probe',
] as const

export type Capability = (typeof capabilities)[number]

/** Who answered, found out by `probe`. */
export interface PlatformIdentity {
  readonly product: string
  readonly version: string
  /** Of this very installation, so that an address that now leads elsewhere is noticed. Empty where there is none. */
  readonly instance_id: string
}

export interface Platform {
  readonly kind: string
  readonly capabilities: ReadonlySet<Capability>
  readonly ports: Partial<Ports>
  /** Connects, signs in and says who answered. Throws `platform-fingerprint` with the certificate that was seen. */
  probe(call: Call): Promise<PlatformIdentity>
  /** Ends the session where there is one, within a few seconds. Never throws. */
  close(): Promise<void>
}

/** The port, or a refusal that names what is missing. */
export const portOf = <Name extends keyof Ports>(platform: Platform, name: Name): Ports[Name] => {
  const port = platform.ports[name]
  if (!port) throw unsupported(platform.kind, `do what needs its ${name} port`)
  return port
}

export const requireCapability = (platform: Platform, capability: Capability): void => {
  if (!platform.capabilities.has(capability)) throw unsupported(platform.kind, `do "${capability}"`)
}

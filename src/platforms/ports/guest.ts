import type { Call } from './call.ts'
import type { Found } from './task.ts'

/** What can be seen of a running guest from outside. */
export interface GuestView {
  readonly agent: 'running' | 'not-running' | 'not-installed' | 'unknown'
  readonly hostname: string
  readonly addresses: readonly { readonly mac: string; readonly address: string }[]
  readonly boot_id: string
  /** A number in the guest's memory that only goes up while it runs and survives a hibernation; null: no such thing. */
  readonly counter: number | null
}

export interface GuestPort {
  guest(call: Call, machine: string): Promise<Found<GuestView>>
  /** Ports of the guest that answer, of those asked for. */
  openPorts(call: Call, machine: string, ports: readonly number[]): Promise<Found<readonly number[]>>
}

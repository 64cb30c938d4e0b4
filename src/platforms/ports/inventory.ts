import type {
  HostFacts,
  InstanceFacts,
  NetworkFacts,
  ProjectFacts,
  StorageFacts,
} from '../../domain/inventory/facts.ts'
import type { Call } from './call.ts'
import type { PlatformError } from './platform-error.ts'
import type { Found } from './task.ts'

/** One thing as it was read, or why this one thing could not be: the others come all the same. */
export type InventoryItem =
  | { readonly type: 'instance'; readonly facts: InstanceFacts }
  | { readonly type: 'network'; readonly facts: NetworkFacts }
  | { readonly type: 'host'; readonly facts: HostFacts }
  | { readonly type: 'storage'; readonly facts: StorageFacts }
  | { readonly type: 'project'; readonly facts: ProjectFacts }
  /** Deltas only: it is no longer there. */
  | {
      readonly type: 'gone'
      readonly of: 'instance' | 'network' | 'host' | 'storage' | 'project'
      readonly ref: string
    }
  | {
      readonly type: 'problem'
      readonly of: 'instance' | 'network' | 'host' | 'storage' | 'project'
      /** Empty when not even that is known. */
      readonly ref: string
      readonly name: string
      readonly error: PlatformError
    }

export interface ScanOptions {
  /** Inventory paths or data centres to look into; empty: everything. */
  readonly scopes: readonly string[]
  /** How many single things are asked for at once, where the platform needs that. */
  readonly concurrency: number
  /** How long one thing may take before it becomes a `problem`. */
  readonly itemTimeoutMs: number
}

export interface ScanEnd {
  /**
   * Where a delta goes on, where the platform has deltas: opaque text, at most 8 KiB, valid for another process
   * too. It may hold a session: keep it sealed.
   */
  readonly cursor: string | null
}

/**
 * Reads as a stream, so that memory does not grow with the fleet. The generator returns where a delta goes on;
 * a consumer that stops early frees what the platform holds for it. An error that it throws ends the whole
 * reading: nothing may be concluded from what did not come.
 */
export type Scan = AsyncGenerator<readonly InventoryItem[], ScanEnd>

export interface InventoryPort {
  scan(call: Call, options: ScanOptions): Scan
  /** What changed since; throws `platform-cursor-lost` when only a full scan can tell. */
  changes(call: Call, options: ScanOptions & { readonly cursor: string }): Scan
  /** One machine as it is now. */
  instance(call: Call, ref: string): Promise<Found<InstanceFacts>>
}

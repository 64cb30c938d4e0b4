import type { OperationAtWork } from '../../../db/queries/operations/operation-rows.ts'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import type { MachineRow } from '../../../db/schema/operation.ts'
import type { OperationReason } from '../../domain/operation/kinds/reasons.ts'
import type { Wait } from '../../ledger/job.ts'
import type { Platform } from '../../platforms/ports/ports.ts'
import type { MachineContext } from './machine-lock.ts'

/** All that a kind needs to act on its machine. */
export interface Performance {
  readonly ctx: MachineContext
  readonly operation: OperationAtWork
  readonly machine: MachineRow
  readonly target: SiteRow
  readonly platform: Platform
  /** Throws unless the machine may be started now: asked right before each call that makes it run. */
  readonly mayStart: () => Promise<void>
}

/**
 * Look again after this long, or earlier when the signal comes. The reason tells whether the deadline runs meanwhile:
 * slot-wait.ts.
 */
export interface PerformWait extends Wait {
  readonly reason: OperationReason
  /** How far the whole operation has come, of 100. */
  readonly progress?: number
}

export interface PerformDone {
  readonly type: 'done'
  readonly result: Readonly<Record<string, unknown>>
  /** What is known of the machine from now on; what is not given stays. */
  readonly machine: Partial<Pick<MachineRow, 'power' | 'host' | 'savedState'>>
}

/** How one kind of operation is done, a turn at a time. */
export interface Performer {
  /**
   * Before it counts as begun, and before its deadline runs: where it needs to be let in first, by a slot or a host.
   * Called in every turn until it says `ready`.
   */
  readonly prepare?: (performance: Performance) => Promise<PerformWait | { readonly type: 'ready' }>
  readonly perform: (performance: Performance) => Promise<PerformWait | PerformDone>
}

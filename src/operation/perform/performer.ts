import type { OperationAtWork } from '../../../db/queries/operations/operation-rows.ts'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import type { MachineRow } from '../../../db/schema/operation.ts'
import type { OperationReason } from '../../domain/operation/kinds/reasons.ts'
import type { Wait } from '../../ledger/job.ts'
import type { Platform } from '../../platforms/ports/ports.ts'
import type { MachineContext } from './machine-lock.ts'

/** What a kind needs to act on its machine. */
export interface Performance {
  readonly ctx: MachineContext
  readonly operation: OperationAtWork
  readonly machine: MachineRow
  readonly target: SiteRow
  readonly platform: Platform
  /** Throws unless the machine may be started now: asked right before each call that starts it. */
  readonly mayStart: () => Promise<void>
}

/**
 * Look again after this time, or earlier when the signal comes. The reason tells whether the deadline runs meanwhile:
 * see slot-wait.ts.
 */
export interface PerformWait extends Wait {
  readonly reason: OperationReason
  /** The progress of the whole operation, of 100. */
  readonly progress?: number
}

export interface PerformDone {
  readonly type: 'done'
  readonly result: Readonly<Record<string, unknown>>
  /** Changes to the machine's row; other columns stay. */
  readonly machine: Partial<Pick<MachineRow, 'power' | 'host' | 'savedState'>>
}

/** How one kind of operation is carried out, turn by turn. */
export interface Performer {
  /**
   * Called in every turn until `ready`, before the operation counts as begun and before its deadline runs: for kinds
   * that first need slots or a host.
   */
  readonly prepare?: (performance: Performance) => Promise<PerformWait | { readonly type: 'ready' }>
  readonly perform: (performance: Performance) => Promise<PerformWait | PerformDone>
}

import type { ConflictRule } from '../../../src/domain/operation/admission/admit.ts'
import type { OperationVariant } from '../../../src/domain/operation/kinds/kinds.ts'

export interface Step extends OperationVariant {
  /** Asked while the one before it is still open, and what is wanted then. Left out: nothing is open. */
  readonly meets?: ConflictRule
}

/**
 * What is asked of each machine, in order; it is on before and after. Three of ten meet one that was asked for a moment
 * before: one takes its place, one is refused, one waits behind it.
 */
export const script: readonly Step[] = [
  { kind: 'stop', force: true },
  { kind: 'start', force: false },
  { kind: 'stop', force: true, meets: 'supersede' },
  { kind: 'start', force: false },
  { kind: 'restart', force: true },
  { kind: 'stop', force: true, meets: 'reject' },
  { kind: 'stop', force: true },
  { kind: 'start', force: false, meets: 'queue' },
  { kind: 'restart', force: true },
  { kind: 'restart', force: true },
]

import type { OperationCause, OperationKind } from '../kinds/kinds.ts'
import type { OperationState } from '../kinds/state.ts'
import { restSeconds } from './run-policy.ts'

export interface EndedOperation {
  readonly kind: OperationKind
  readonly cause: OperationCause
  readonly state: OperationState
  /** It has begun: the platform may have been asked. */
  readonly begun: boolean
  /** An evacuation wants it: it comes back. */
  readonly standsDown: boolean
  /** Failures in a row before this end: of those it came back for, or of its machine's policy. */
  readonly failures: number
}

/** To be tried again after a rest, with so many failures in a row. */
interface Again {
  readonly failures: number
  readonly restSeconds: number
}

/** What an end means for its machine, beside what became of the operation itself. */
export interface OperationFollowups {
  /** A person wants it off from now on, or has wanted it on. */
  readonly stopped?: boolean
  /** When what its run policy wants is looked at again. */
  readonly policy?: Again
  /** When it can come back. */
  readonly resumption?: Again
}

/**
 * For how long an evacuation's wish stands after the end of the operation that it comes back for, and how often it may fail
 * in a row: about as long, at the longest rest. A machine is not moved for what somebody wanted last year.
 */
export const resumptionBounds = { days: 7, failures: 2_000 } as const

/** Until when an ended one can come back. */
export const resumesUntil = (finishedAt: Date): Date =>
  new Date(finishedAt.getTime() + resumptionBounds.days * 86_400_000)

const startKinds: readonly OperationKind[] = ['start', 'restart', 'wake']
/** A machine that does not stay as its policy wants it is not asked again at once. */
const settledRestSeconds = 10
const canceledRestSeconds = 300

export const operationFollowups = (ended: EndedOperation): OperationFollowups => {
  switch (ended.cause) {
    case 'person':
      return afterPerson(ended)
    case 'policy':
      return { policy: afterPolicy(ended) }
    case 'evacuation':
      return ended.standsDown ? afterEvacuation(ended) : {}
  }
}

const afterPerson = ({ kind, state, begun }: EndedOperation): OperationFollowups => {
  // Also when the guest took too long: off is where they want it, and it may go off yet.
  if (kind === 'stop' && (state === 'completed' || (state === 'failed' && begun))) return { stopped: true }
  // Also when it failed: on is where they want it.
  return startKinds.includes(kind) && (state === 'completed' || state === 'failed') ? { stopped: false } : {}
}

const afterPolicy = ({ state, failures }: EndedOperation): Again => {
  if (state === 'completed') return { failures: 0, restSeconds: settledRestSeconds }
  // Who cancels it has a reason: it comes again, and not at once.
  if (state === 'canceled') return { failures, restSeconds: canceledRestSeconds }
  if (state === 'failed') return { failures: failures + 1, restSeconds: restSeconds(failures + 1) }
  return { failures, restSeconds: settledRestSeconds }
}

/** A person who cancels it has the machine stay; one whose operation took its place only has it wait. */
const afterEvacuation = ({ state, failures }: EndedOperation): OperationFollowups => {
  if (state === 'superseded') return { resumption: { failures, restSeconds: 0 } }
  if (state !== 'failed') return {}
  return { resumption: { failures: failures + 1, restSeconds: restSeconds(failures + 1) } }
}

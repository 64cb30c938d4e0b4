import type { OperationCause, OperationKind } from '../kinds/kinds.ts'
import type { OperationState } from '../kinds/state.ts'
import { restSeconds } from './run-policy.ts'

export interface EndedOperation {
  readonly kind: OperationKind
  readonly cause: OperationCause
  readonly state: OperationState
  /** It has started: calls to the platform may have been made. */
  readonly begun: boolean
  /** It belongs to an evacuation, and is resumed after another operation took its place. */
  readonly standsDown: boolean
  /** Failures in a row before this end: of the evacuation, or of the machine's run policy. */
  readonly failures: number
}

/** The next try: after this pause, with this many failures in a row so far. */
interface Again {
  readonly failures: number
  readonly restSeconds: number
}

/** What follows for the machine when an operation has ended. */
export interface OperationFollowups {
  /** True: a person wants the machine off from now on; false: on. */
  readonly stopped?: boolean
  /** When the run policy is checked again. */
  readonly policy?: Again
  /** When the evacuation is tried again. */
  readonly resumption?: Again
}

/**
 * How long an evacuation is resumed after its operation has ended, and how many failures in a row it may have: with the
 * longest pause both limits are about equal. An evacuation requested last year must not move a machine today.
 */
export const resumptionBounds = { days: 7, failures: 2_000 } as const

/** The last moment at which an ended evacuation is tried again. */
export const resumesUntil = (finishedAt: Date): Date =>
  new Date(finishedAt.getTime() + resumptionBounds.days * 86_400_000)

const startKinds: readonly OperationKind[] = ['start', 'restart', 'wake']
/** The pause before the run policy acts again on a machine that did not stay in the wanted state. */
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
  // Also when the guest took too long: the person wants the machine off, and the guest may still shut down.
  if (kind === 'stop' && (state === 'completed' || (state === 'failed' && begun))) return { stopped: true }
  // Also when it failed: the person wants the machine on.
  return startKinds.includes(kind) && (state === 'completed' || state === 'failed') ? { stopped: false } : {}
}

const afterPolicy = ({ state, failures }: EndedOperation): Again => {
  if (state === 'completed') return { failures: 0, restSeconds: settledRestSeconds }
  // A person cancelled it for a reason, so the policy waits before it acts again.
  if (state === 'canceled') return { failures, restSeconds: canceledRestSeconds }
  if (state === 'failed') return { failures: failures + 1, restSeconds: restSeconds(failures + 1) }
  return { failures, restSeconds: settledRestSeconds }
}

/** Cancelled: the machine stays. Superseded: the evacuation continues after the other operation. */
const afterEvacuation = ({ state, failures }: EndedOperation): OperationFollowups => {
  if (state === 'superseded') return { resumption: { failures, restSeconds: 0 } }
  if (state !== 'failed') return {}
  return { resumption: { failures: failures + 1, restSeconds: restSeconds(failures + 1) } }
}

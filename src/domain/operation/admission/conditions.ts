import {
  type CompatibleWord,
  compatibleWord,
  moveKinds,
  pendingWords,
  underWayWords,
} from '../kinds/compatible-words.ts'
import type { OperationKind } from '../kinds/kinds.ts'
import { type OperationReason, operationReasons } from '../kinds/reasons.ts'
import { hasEnded, type OperationState } from '../kinds/state.ts'

/** The view of other VM operation tools: a phase and two conditions. */
export interface ConditionsView {
  readonly phase: 'Pending' | 'InProgress' | 'Completed' | 'Failed'
  /** `45%`: only for moves. */
  readonly progress: string | null
  readonly conditions: readonly Condition[]
}

interface Condition {
  readonly type: 'Completed' | 'SignalSent'
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
  readonly last_transition_time: string
}

/** What the effects of an operation tell. */
export interface SignalSeen {
  /** The platform was asked, or is about to be. */
  readonly attempted: boolean
  /** When the platform first accepted something. */
  readonly acceptedAt: Date | null
}

export interface OperationSeen {
  readonly kind: OperationKind
  readonly state: OperationState
  /** The current reason. */
  readonly reason: OperationReason
  /** The recorded reason, without its job's report. */
  readonly stored: OperationReason
  readonly message: string
  readonly progress: number
  readonly createdAt: Date
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
  /** Null: its job was pruned, and its effects with it. */
  readonly signal: SignalSeen | null
}

/** The operation as those tools read it. */
export const conditionsView = (operation: OperationSeen): ConditionsView => {
  const { kind, state, createdAt, startedAt, finishedAt, progress } = operation
  const succeeded = state === 'completed' || state === 'superseded'
  const word = completedWord(operation)
  return {
    phase: phaseShown(operation, word),
    progress: moveKinds.includes(kind) ? `${progress}%` : null,
    conditions: [
      {
        type: 'Completed',
        status: succeeded ? 'True' : 'False',
        reason: word,
        message: sentence(operation),
        last_transition_time: (finishedAt ?? startedAt ?? createdAt).toISOString(),
      },
      signalSent(operation),
    ],
  }
}

/** The recorded sentence belongs to the recorded reason. */
const sentence = ({ reason, stored, message }: OperationSeen): string =>
  reason === stored ? message : `${operationReasons[reason].title}.`

/** A delay of a running operation's job does not change its reason. */
const heldUp: readonly OperationReason[] = ['retrying', 'paused', 'no-worker']

const completedWord = (operation: OperationSeen): CompatibleWord => {
  const { kind, state, reason, stored } = operation
  const at = state === 'running' && heldUp.includes(reason) ? stored : reason
  // Its turn has come, but nothing was accepted yet.
  if (state === 'running' && at === 'in-progress' && !wasAccepted(operation))
    return compatibleWord(kind, 'admitted')
  return compatibleWord(kind, at, state === 'failed')
}

const wasAccepted = ({ signal }: OperationSeen): boolean => signal !== null && signal.acceptedAt !== null

const phaseShown = (operation: OperationSeen, word: CompatibleWord): ConditionsView['phase'] => {
  switch (operation.state) {
    case 'queued':
    case 'pending':
      return 'Pending'
    case 'running': {
      const under = wasAccepted(operation) || underWayWords.includes(word)
      return under && !pendingWords.includes(word) ? 'InProgress' : 'Pending'
    }
    case 'failed':
    case 'canceled':
      return 'Failed'
    case 'completed':
    // As those tools have it: they read the condition to tell it from a success.
    case 'superseded':
      return 'Completed'
  }
}

/** Reasons on the side of the target: it was asked and did not accept. */
const targetsNo: readonly OperationReason[] = ['host-full', 'target-busy', 'target-fails']
/**
 * A failure with one of these reasons is the target's, even if nothing was requested yet: it could not even be looked
 * at.
 */
const targetsFailure: readonly OperationReason[] = [
  ...targetsNo,
  ...(['target-unreachable', 'deadline-exceeded', 'failed', 'other-move'] as const),
  ...(['name-taken', 'state-unusable', 'machine-not-movable'] as const),
]

const signalSent = (operation: OperationSeen): Condition => {
  const { state, createdAt, startedAt, finishedAt, signal } = operation
  const of = { type: 'SignalSent', message: '' } as const
  if (wasAccepted(operation) || state === 'completed')
    return {
      ...of,
      status: 'True',
      reason: 'SignalSentSuccess',
      last_transition_time: (signal?.acceptedAt ?? finishedAt ?? createdAt).toISOString(),
    }
  if (wasRefused(operation))
    return {
      ...of,
      status: 'False',
      reason: 'SignalSentError',
      message: sentence(operation),
      last_transition_time: (finishedAt ?? startedAt ?? createdAt).toISOString(),
    }
  return { ...of, status: 'Unknown', reason: 'Unknown', last_transition_time: createdAt.toISOString() }
}

/** Unknown for an operation whose job was pruned. */
const wasRefused = ({ state, reason, signal }: OperationSeen): boolean => {
  if (signal === null) return false
  if (signal.attempted && (hasEnded(state) || targetsNo.includes(reason))) return true
  return state === 'failed' && targetsFailure.includes(reason)
}

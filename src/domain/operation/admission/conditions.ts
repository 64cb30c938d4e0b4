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

/** What tools of VM operations know: a phase and two conditions. */
export interface ConditionsView {
  readonly phase: 'Pending' | 'InProgress' | 'Completed' | 'Failed'
  /** `45%`: of moves alone. */
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
  /** Something was asked of the platform, or is about to be. */
  readonly attempted: boolean
  /** When the platform first took something on. */
  readonly acceptedAt: Date | null
}

export interface OperationSeen {
  readonly kind: OperationKind
  readonly state: OperationState
  /** Why it is where it is now. */
  readonly reason: OperationReason
  /** The same without what its job says: what it was at last. */
  readonly stored: OperationReason
  readonly message: string
  readonly progress: number
  readonly createdAt: Date
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
  /** Null: its job is forgotten, and what that had asked for. */
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

/** The stored sentence belongs to the stored reason. */
const sentence = ({ reason, stored, message }: OperationSeen): string =>
  reason === stored ? message : `${operationReasons[reason].title}.`

/** What holds up the job of one that is under way changes nothing of where that is. */
const heldUp: readonly OperationReason[] = ['retrying', 'paused', 'no-worker']

const completedWord = (operation: OperationSeen): CompatibleWord => {
  const { kind, state, reason, stored } = operation
  const at = state === 'running' && heldUp.includes(reason) ? stored : reason
  // Its turn has come, and that is all: nothing of it is in progress before it was taken on.
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
    // As those tools have it, who read the condition to tell it from a success.
    case 'superseded':
      return 'Completed'
  }
}

/** What a target has against it: with one of these it was asked, and did not take it on. */
const targetsNo: readonly OperationReason[] = ['host-full', 'target-busy', 'target-fails']
/** A failure with one of these is its target's, even where nothing was asked for yet: it could not even be looked at. */
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

/** Of one whose job is forgotten nobody knows it. */
const wasRefused = ({ state, reason, signal }: OperationSeen): boolean => {
  if (signal === null) return false
  if (signal.attempted && (hasEnded(state) || targetsNo.includes(reason))) return true
  return state === 'failed' && targetsFailure.includes(reason)
}

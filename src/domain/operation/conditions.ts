import type { OperationState } from './state.ts'

/** What tools of VM operations know: a phase and two conditions. */
export interface ConditionsView {
  readonly phase: 'Pending' | 'InProgress' | 'Completed' | 'Failed'
  readonly conditions: readonly Condition[]
}

interface Condition {
  readonly type: 'Completed' | 'SignalSent'
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
  readonly last_transition_time: string
}

export interface OperationSeen {
  readonly state: OperationState
  /** A reason of ours, `host-full`. */
  readonly reason: string
  readonly message: string
  readonly createdAt: Date
  /** When the platform was first asked for something. */
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
}

const phases: Readonly<Record<OperationState, ConditionsView['phase']>> = {
  queued: 'Pending',
  pending: 'Pending',
  running: 'InProgress',
  completed: 'Completed',
  failed: 'Failed',
  canceled: 'Failed',
  // As those tools have it, who read the condition to tell it from a success.
  superseded: 'Completed',
}

/** The operation as those tools read it. */
export const conditionsView = (operation: OperationSeen): ConditionsView => {
  const { state, startedAt, createdAt, finishedAt } = operation
  const succeeded = state === 'completed' || state === 'superseded'
  const sent = startedAt !== null
  return {
    phase: phases[state],
    conditions: [
      {
        type: 'Completed',
        status: succeeded ? 'True' : 'False',
        reason: completedReason(operation),
        message: operation.message,
        last_transition_time: (finishedAt ?? startedAt ?? createdAt).toISOString(),
      },
      {
        type: 'SignalSent',
        status: sent ? 'True' : state === 'failed' ? 'False' : 'Unknown',
        reason: sent ? 'SignalSentSuccess' : state === 'failed' ? 'SignalSentError' : 'Unknown',
        message: '',
        last_transition_time: (startedAt ?? finishedAt ?? createdAt).toISOString(),
      },
    ],
  }
}

const completedReason = ({ state, reason }: OperationSeen): string => {
  if (state === 'superseded') return 'Superseded'
  if (state === 'completed') return 'OperationCompleted'
  return pascal(reason)
}

const pascal = (reason: string): string =>
  reason
    .split('-')
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('')

import type { JobState } from '../../job/state.ts'
import { isTerminal } from '../../job/state.ts'
import type { OperationReason } from '../kinds/reasons.ts'
import { hasEnded, type OperationState } from '../kinds/state.ts'

export interface TickFacts {
  readonly state: OperationState
  readonly jobId: string | null
  readonly jobState: JobState | null
  /** Its wait timeout is over. */
  readonly expired: boolean
  /** It has started: its deadline counts from here. */
  readonly started: boolean
  /** It has started and waits for a slot again: the wait timeout runs, as before its start, and the deadline is paused. */
  readonly waitsForSlot: boolean
  /** Seconds beyond its deadline; null: the deadline has not passed. */
  readonly overdueSeconds: number | null
  /** The reason it has recorded itself. */
  readonly reason: string
  /** An operation that has ended is still active at the machine. */
  readonly awaitsStillActive: boolean
}

export type TickStep =
  | { readonly do: 'rest' }
  /** Nothing that it started still runs. */
  | { readonly do: 'settle' }
  | { readonly do: 'end'; readonly event: 'fail' | 'expire' | 'cancel'; readonly reason: OperationReason }
  /** It ends after its job was cancelled. */
  | { readonly do: 'call-off'; readonly event: 'expire'; readonly reason: OperationReason }

/** Its own job checks the deadline too, and knows best what was left to do: it gets this long to end the operation itself. */
export const overdueGraceSeconds = 3
/** A turn that still runs is in the middle of a call, and every call has a timeout of its own. */
export const runningGraceSeconds = 60

/** The reason of an operation that ran past its deadline, by what it waited for last. */
export const overdueReason = (waitedFor: string): OperationReason =>
  waitedFor === 'waiting-for-guest' ? 'guest-keeps-running' : 'deadline-exceeded'

/** The next step for an unsettled operation that no job moves. */
export const decideTick = (facts: TickFacts): TickStep => {
  const { state, jobId, jobState, expired, started, waitsForSlot, awaitsStillActive } = facts
  const jobEnded = jobState === null || isTerminal(jobState)
  if (hasEnded(state)) return jobEnded ? { do: 'settle' } : { do: 'rest' }
  if (state === 'queued')
    return expired ? { do: 'end', event: 'expire', reason: 'wait-expired' } : { do: 'rest' }
  if (jobEnded && jobId !== null)
    return jobState === 'canceled'
      ? { do: 'end', event: 'cancel', reason: 'canceled' }
      : { do: 'end', event: 'fail', reason: 'failed' }
  if (!waitsForSlot && isOverdue(facts))
    return { do: 'call-off', event: 'expire', reason: overdueReason(facts.reason) }
  if (expired && (!started || waitsForSlot))
    return { do: 'call-off', event: 'expire', reason: awaitsStillActive ? 'older-keeps-on' : 'wait-expired' }
  return { do: 'rest' }
}

const isOverdue = ({ overdueSeconds, jobState }: TickFacts): boolean =>
  overdueSeconds !== null &&
  overdueSeconds >= (jobState === 'running' ? runningGraceSeconds : overdueGraceSeconds)

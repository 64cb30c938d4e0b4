import type { JobState } from '../../job/state.ts'
import { isTerminal } from '../../job/state.ts'
import type { OperationReason } from '../kinds/reasons.ts'
import { hasEnded, type OperationState } from '../kinds/state.ts'

export interface TickFacts {
  readonly state: OperationState
  readonly jobId: string | null
  readonly jobState: JobState | null
  /** It has waited for its turn longer than it was given. */
  readonly expired: boolean
  /** It has begun: from here on its own deadline counts. */
  readonly started: boolean
  /** It has begun, and stands in line again: as long as it does its patience counts, as before its beginning. */
  readonly waitsForSlot: boolean
  /** For how long it has taken more than it was given; null: it has not. */
  readonly overdueSeconds: number | null
  /** Where it is, as it says. */
  readonly reason: string
  /** One that has ended does not let go of the machine yet. */
  readonly awaitsStillActive: boolean
}

export type TickStep =
  | { readonly do: 'rest' }
  /** Nothing of it is under way any more. */
  | { readonly do: 'settle' }
  | { readonly do: 'end'; readonly event: 'fail' | 'expire' | 'cancel'; readonly reason: OperationReason }
  /** It ends, and its job is called off first. */
  | { readonly do: 'call-off'; readonly event: 'expire'; readonly reason: OperationReason }

/** Its own job looks at its deadline too, and says best what was left to do: it has this long for it. */
export const overdueGraceSeconds = 3
/** A turn that goes on is in the middle of a call, which has an end of its own. */
export const runningGraceSeconds = 60

/** What an operation that ran out of time is told to have failed of, by what it waited for last. */
export const overdueReason = (waitedFor: string): OperationReason =>
  waitedFor === 'waiting-for-guest' ? 'guest-keeps-running' : 'deadline-exceeded'

/** What becomes of an operation that is not settled, when nobody else moves it. */
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

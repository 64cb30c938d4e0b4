import type { JobState } from '../job/state.ts'
import { isTerminal } from '../job/state.ts'
import type { OperationReason } from './reasons.ts'
import { hasEnded, type OperationState } from './state.ts'

export interface TickFacts {
  readonly state: OperationState
  readonly jobId: string | null
  readonly jobState: JobState | null
  /** It has waited for its turn longer than it was given. */
  readonly expired: boolean
  /** It has begun: from here on its own deadline counts, which its job looks at. */
  readonly started: boolean
}

export type TickStep =
  | { readonly do: 'rest' }
  /** Nothing of it is under way any more. */
  | { readonly do: 'settle' }
  | { readonly do: 'end'; readonly to: 'failed' | 'canceled'; readonly reason: OperationReason }
  /** It ends, and its job is called off first. */
  | { readonly do: 'call-off'; readonly to: 'failed'; readonly reason: OperationReason }

/** What becomes of an operation that is not settled, when nobody else moves it. */
export const decideTick = ({ state, jobId, jobState, expired, started }: TickFacts): TickStep => {
  const jobEnded = jobState === null || isTerminal(jobState)
  if (hasEnded(state)) return jobEnded ? { do: 'settle' } : { do: 'rest' }
  if (state === 'queued')
    return expired ? { do: 'end', to: 'failed', reason: 'wait-expired' } : { do: 'rest' }
  if (jobEnded && jobId !== null)
    return jobState === 'canceled'
      ? { do: 'end', to: 'canceled', reason: 'canceled' }
      : { do: 'end', to: 'failed', reason: 'failed' }
  if (expired && !started) return { do: 'call-off', to: 'failed', reason: 'wait-expired' }
  return { do: 'rest' }
}

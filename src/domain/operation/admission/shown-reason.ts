import type { JobState } from '../../job/state.ts'
import { type OperationReason, operationReasons } from '../kinds/reasons.ts'
import { isActive, type OperationState } from '../kinds/state.ts'

/** What the reason that is shown hangs on. */
export interface ReasonFacts {
  readonly state: OperationState
  /** As it was noted last. */
  readonly reason: OperationReason
  /** Of its job; null: it has none, or has ended. */
  readonly jobState: JobState | null
  readonly jobWaitReason: string | null
  /** A pause holds the job. */
  readonly held: boolean
  /** The job has failed, and is not due again yet. */
  readonly retrying: boolean
  /** A worker that takes such jobs is there. */
  readonly attended: boolean
}

const isReason = (word: string | null): word is OperationReason =>
  word !== null && Object.hasOwn(operationReasons, word)

/** Why an operation is where it is: what an active one waits for is told by its job alone, so it is never out of date. */
export const shownReason = (facts: ReasonFacts): OperationReason => {
  const { state, reason, jobState, jobWaitReason } = facts
  if (!isActive(state) || jobState === null) return reason
  if (jobState === 'waiting') {
    if (jobWaitReason === 'token') return 'awaiting-slot'
    return isReason(jobWaitReason) ? jobWaitReason : reason
  }
  if (jobState !== 'ready') return reason
  if (facts.held) return 'paused'
  if (facts.retrying) return 'retrying'
  return facts.attended ? reason : 'no-worker'
}

import type { JobState } from '../../job/state.ts'
import { type OperationReason, operationReasons } from '../kinds/reasons.ts'
import { isActive, type OperationState } from '../kinds/state.ts'

/** What the shown reason depends on. */
export interface ReasonFacts {
  readonly state: OperationState
  /** As recorded last. */
  readonly reason: OperationReason
  /** The state of its job; null: it has none, or has ended. */
  readonly jobState: JobState | null
  readonly jobWaitReason: string | null
  /** A pause holds the job. */
  readonly held: boolean
  /** The job has failed and is not due again yet. */
  readonly retrying: boolean
  /** A living worker takes such jobs. */
  readonly attended: boolean
}

const isReason = (word: string | null): word is OperationReason =>
  word !== null && Object.hasOwn(operationReasons, word)

/** The reason of an operation. For an active operation its job alone tells the wait, so it is never outdated. */
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

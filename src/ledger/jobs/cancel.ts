import type { Db, Tx } from '../../../db/client.ts'
import {
  type CancelRequest,
  cancelIdleJob,
  lockJob,
  requestJobCancel,
} from '../../../db/queries/jobs/cancel-job.ts'
import type { JobState } from '../../domain/job/state.ts'
import { isTerminal } from '../../domain/job/state.ts'
import { releaseAndAdmit } from './admission.ts'
import { cancelChannel, nudge } from './nudge.ts'

export interface CancelOutcome {
  readonly outcome: 'canceled' | 'requested' | 'ended' | 'not-found'
  readonly state?: JobState
}

/**
 * Cancels a job in the caller's transaction. A job that is not running and left nothing outside ends here; any other
 * job is asked to end, and a worker undoes its effects first. `ended`: there was nothing left to cancel. Call
 * `nudgeCancel` after the commit.
 */
export const cancelInTransaction = async (
  tx: Tx,
  jobId: string,
  request: CancelRequest,
): Promise<CancelOutcome> => {
  const job = await lockJob(tx, jobId)
  if (!job) return { outcome: 'not-found' }
  if (isTerminal(job.state)) return { outcome: 'ended', state: job.state }
  if (job.state === 'running' || job.openEffects > 0) {
    if (!job.cancelRequested) await requestJobCancel(tx, job, request)
    return { outcome: 'requested', state: job.state }
  }
  await cancelIdleJob(tx, job, request)
  await releaseAndAdmit(tx, [jobId])
  return { outcome: 'canceled', state: 'canceled' }
}

/** Tells workers and the conductor that a cancel was committed. */
export const nudgeCancel = (db: Db, outcome: CancelOutcome): void => {
  if (outcome.outcome === 'requested') nudge(db, cancelChannel)
  nudge(db)
}

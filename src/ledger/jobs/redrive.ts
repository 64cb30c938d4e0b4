import type { Tx } from '../../../db/client.ts'
import { lockJob } from '../../../db/queries/jobs/cancel-job.ts'
import { redriveJob, withRetryFacts } from '../../../db/queries/jobs/redrive-job.ts'
import { type RetryRefusal, refuseRetry } from '../../domain/job/explain/retry-refusal.ts'
import { isTerminal } from '../../domain/job/state.ts'

export type RedriveOutcome =
  | { readonly outcome: 'ready'; readonly generation: number }
  | { readonly outcome: 'not-ended' | 'succeeded' | 'not-found' | RetryRefusal }

/**
 * Starts a failed or cancelled job again in the caller's transaction, as a new generation. Its effects that still stand
 * are adopted. Call `nudge` after the commit.
 */
export const redriveInTransaction = async (
  tx: Tx,
  jobId: string,
  by: { by: string },
): Promise<RedriveOutcome> => {
  const job = await lockJob(tx, jobId)
  if (!job) return { outcome: 'not-found' }
  if (job.state === 'succeeded') return { outcome: 'succeeded' }
  if (!isTerminal(job.state)) return { outcome: 'not-ended' }
  // Under the lock: somebody may be undoing its debts this very moment, and a new run must not build on what is torn down.
  const [asked] = await withRetryFacts(tx, [job])
  const refusal = refuseRetry(job.kind, asked?.retryFacts ?? null)
  if (refusal) return { outcome: refusal }
  return { outcome: 'ready', generation: await redriveJob(tx, jobId, by.by) }
}

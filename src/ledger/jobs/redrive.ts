import type { Tx } from '../../../db/client.ts'
import { lockJob } from '../../../db/queries/jobs/cancel-job.ts'
import { redriveJob } from '../../../db/queries/jobs/redrive-job.ts'
import { isTerminal } from '../../domain/job/state.ts'

export type RedriveOutcome =
  | { readonly outcome: 'ready'; readonly generation: number }
  | { readonly outcome: 'not-ended' | 'succeeded' | 'in-debt' | 'not-found' }

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
  // The effects may be being undone right now; a new run must not build on them.
  if (job.debts > 0) return { outcome: 'in-debt' }
  return { outcome: 'ready', generation: await redriveJob(tx, jobId, by.by) }
}

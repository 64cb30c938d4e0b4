import { type Db, isDeadlock } from '../../../db/client.ts'
import { unringJobs } from '../../../db/queries/bell/unring-jobs.ts'
import { type ClaimAsk, type ClaimedJob, claimJobs } from '../../../db/queries/leases/claim-jobs.ts'
import { explainRefusedClaim, type RefusedJob } from '../../../db/queries/leases/explain-refused-claim.ts'

/** The result of following a bell. */
export type ClaimAnswer =
  | { readonly outcome: 'claimed'; readonly job: ClaimedJob }
  /** It can be claimed, but only with its tokens: `claimWithTokens`. */
  | { readonly outcome: 'needs-tokens'; readonly tokens: readonly string[] }
  /** Claimed by another worker, ended, or postponed: nothing to do. */
  | { readonly outcome: 'not-ours' }

/**
 * A job whose payload is too new for this worker is offered again after this time, so that a newer worker can take it.
 */
const tooNewPauseMs = 2_000

/** Claims a group of jobs by id, and handles each refusal as its reason requires. */
export const claimGroup = async (
  db: Db,
  asked: readonly ClaimAsk[],
  by: { workerId: string; leaseMs: number },
): Promise<readonly ClaimAnswer[]> => {
  const unique = [...new Map(asked.map((ask) => [ask.id, ask])).values()]
  const claimed = new Map((await claimOnce(db, unique, by)).map((job) => [job.id, job]))
  const missed = unique.filter((ask) => !claimed.has(ask.id))
  // The claims are committed: an error about the others must not lose them. Unexplained bells ring again.
  const refused = await explain(db, missed).catch(() => new Map<string, RefusedJob>())
  return asked.map((ask): ClaimAnswer => {
    const job = claimed.get(ask.id)
    // Two bells for one job in one group: the first gets it.
    if (job) claimed.delete(ask.id)
    if (job) return { outcome: 'claimed', job }
    const why = refused.get(ask.id)
    if (why && needsTokens(why)) return { outcome: 'needs-tokens', tokens: why.tokens }
    return { outcome: 'not-ours' }
  })
}

const claimOnce = async (
  db: Db,
  asked: readonly ClaimAsk[],
  by: { workerId: string; leaseMs: number },
): Promise<ClaimedJob[]> => {
  try {
    return await claimJobs(db, asked, by)
  } catch (error) {
    // Two processes had the same bells, locked in different orders. The second try succeeds.
    if (!isDeadlock(error)) throw error
    return claimJobs(db, asked, by)
  }
}

const explain = async (db: Db, missed: readonly ClaimAsk[]): Promise<ReadonlyMap<string, RefusedJob>> => {
  if (missed.length === 0) return new Map()
  const refused = await explainRefusedClaim(db, missed)
  const tooNew = refused.filter((job) => job.tooNew).map((job) => job.id)
  const later = refused.filter((job) => !job.tooNew && (job.paused || job.notDue)).map((job) => job.id)
  if (tooNew.length > 0) await unringJobs(db, tooNew, tooNewPauseMs)
  if (later.length > 0) await unringJobs(db, later, 0)
  return new Map(refused.map((job) => [job.id, job]))
}

const needsTokens = (job: RefusedJob): boolean =>
  job.tokens.length > 0 && !job.paused && !job.tooNew && !job.notDue

import type { Db, Tx } from '../../db/client.ts'
import { claimJobWithTokens } from '../../db/queries/claim-job-with-tokens.ts'
import type { ClaimAsk, ClaimedJob } from '../../db/queries/claim-jobs.ts'
import {
  admitWaiter,
  countTokenHolds,
  findAwaitedTokens,
  findTokensHeldBy,
  findTokenWaiters,
  holdTokens,
  lockTokens,
  readAdmissionLimits,
  releaseTokens,
  waitForTokens,
} from '../../db/queries/tokens.ts'
import { tokenLimit } from '../domain/job/token.ts'

/** How many waiters one pass looks at: enough to fill what one release frees, bounded for the lock's sake. */
const waitersPerPass = 64
/** A waiter that nobody admitted asks again by itself after this: a net under the releases. */
const askAgainMs = 600_000

/** The tokens of a list that have no room, given who holds what and the limits in force. Pure. */
export const fullTokens = (
  tokens: readonly string[],
  holds: ReadonlyMap<string, number>,
  limits: ReadonlyMap<string, number>,
): string[] => tokens.filter((token) => (holds.get(token) ?? 0) >= tokenLimit(token, limits))

/**
 * Claims a job that needs tokens: all of them or none. When one is full the job stands in line under that
 * token's name, and the next release looks at the line first.
 */
export const claimWithTokens = (
  db: Db,
  asked: ClaimAsk & { tokens: readonly string[] },
  by: { workerId: string; leaseMs: number },
): Promise<ClaimedJob | undefined> =>
  db.begin(async (tx) => {
    await lockTokens(tx, asked.tokens)
    const held = new Set(await findTokensHeldBy(tx, asked.id))
    const missing = asked.tokens.filter((token) => !held.has(token))
    if (missing.length > 0) {
      const full = fullTokens(missing, await countTokenHolds(tx, missing), await readAdmissionLimits(tx))
      if (full.length > 0) {
        await waitForTokens(tx, {
          jobId: asked.id,
          generation: asked.generation,
          detail: `waits for ${full.join(', ')}`,
          actor: `worker/${by.workerId}`,
          untilMs: askAgainMs,
        })
        return undefined
      }
      await holdTokens(tx, asked.id, 0, missing)
    }
    const claimed = await claimJobWithTokens(tx, asked, by)
    if (!claimed) await releaseAndAdmit(tx, [asked.id])
    return claimed
  }) as Promise<ClaimedJob | undefined>

/** Takes the tokens of ended jobs back and hands them to the line, in one transaction with what ended them. */
export const releaseAndAdmit = async (tx: Tx, jobIds: readonly string[]): Promise<void> => {
  const freed = await releaseTokens(tx, jobIds)
  if (freed.length > 0) await admitWaiters(tx, freed)
}

/**
 * Lets in who stands in line for these tokens, in order, each all or nothing. A waiter that cannot get all
 * does not hold the others back: nothing that is stuck elsewhere stalls this token.
 */
export const admitWaiters = async (tx: Tx, tokens: readonly string[]): Promise<number> => {
  const waiters = await findTokenWaiters(tx, tokens, waitersPerPass)
  if (waiters.length === 0) return 0
  const wanted = [...new Set(waiters.flatMap((waiter) => waiter.tokens))]
  await lockTokens(tx, wanted)
  const limits = await readAdmissionLimits(tx)
  const holds = new Map(await countTokenHolds(tx, wanted))
  let admitted = 0
  for (const waiter of waiters) {
    if (fullTokens(waiter.tokens, holds, limits).length > 0) continue
    if (!(await admitWaiter(tx, waiter.id))) continue
    await holdTokens(tx, waiter.id, 0, waiter.tokens)
    for (const token of waiter.tokens) holds.set(token, (holds.get(token) ?? 0) + 1)
    admitted += 1
  }
  return admitted
}

/** The conductor's look at every line: a limit was raised, a lane resumed, a release was cut short. */
export const readmitAll = async (db: Db): Promise<number> => {
  const awaited = await findAwaitedTokens(db)
  let admitted = 0
  for (const token of awaited) admitted += (await db.begin((tx) => admitWaiters(tx, [token]))) as number
  return admitted
}

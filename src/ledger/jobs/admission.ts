import type { Db, Queryable, Tx } from '../../../db/client.ts'
import { unringJobs } from '../../../db/queries/bell/unring-jobs.ts'
import { claimJobWithTokens } from '../../../db/queries/leases/claim-job-with-tokens.ts'
import type { ClaimAsk, ClaimedJob } from '../../../db/queries/leases/claim-jobs.ts'
import { lockReadyJob } from '../../../db/queries/leases/lock-ready-job.ts'
import { dropJobToken } from '../../../db/queries/tokens/drop-job-token.ts'
import { readSlotUse } from '../../../db/queries/tokens/slot-use.ts'
import {
  admitWaiter,
  countTokenHolds,
  type FindWaiters,
  findAwaitedTokens,
  findTokensHeldBy,
  findTokenWaiters,
  holdTokens,
  lockIdleReservations,
  lockTokens,
  readAdmissionLimits,
  releaseReserved,
  releaseToken,
  releaseTokens,
  releaseUnasked,
  waitForTokens,
} from '../../../db/queries/tokens/tokens.ts'
import { findKind, jobKinds } from '../../domain/job/kinds/registry.ts'
import { crowdedThings, type SlotAsk, takeSlot, whatIsCrowded } from '../../domain/job/room.ts'
import { dependencyClasses, parseToken, tokenLimit } from '../../domain/job/token.ts'

/** Waiters per pass: enough to fill what one release frees, bounded because locks are held. */
const waitersPerPass = 64
/** Waiters that depend on the same things: when the first has no room, the rest would only block others. */
const alikePerPass = 8
/** Things in common by which crowded waiters are left out at most: few have more in common. */
const prunedMost = 3
/** A waiter that was not admitted asks again after this time: a safety net under the releases. */
const askAgainMs = 600_000

/**
 * The tokens of a list that are full, given the holders and the limits in force. A token of an unknown class counts as
 * full: a newer worker may admit the job. Pure.
 */
export const fullTokens = (
  tokens: readonly string[],
  holds: ReadonlyMap<string, number>,
  limits: ReadonlyMap<string, number>,
): string[] =>
  tokens.filter((token) => !parseToken(token) || (holds.get(token) ?? 0) >= tokenLimit(token, limits))

/**
 * Claims a job that needs tokens: all of them or none. When one is full the job queues under that token's name, and
 * the next release looks at the queue first. The job's row is locked before any token, as everywhere; a holder of
 * token locks never waits for a row.
 */
export const claimWithTokens = (
  db: Db,
  asked: ClaimAsk,
  by: { workerId: string; leaseMs: number },
): Promise<ClaimedJob | undefined> =>
  db.begin(async (tx) => {
    // Another bell may have brought it to another worker by now: then the tokens belong to that worker's claim.
    const job = await lockReadyJob(tx, asked)
    if (!job) return undefined
    // As the row says now: it may need fewer tokens since the bell was answered.
    await lockTokens(tx, [...job.tokens, ...slotLocks([job.kind])])
    const held = new Set(await findTokensHeldBy(tx, asked.id))
    const missing = job.tokens.filter((token) => !held.has(token))
    const full = fullTokens(missing, await countTokenHolds(tx, missing), await readAdmissionLimits(tx))
    // A job that was admitted while it was queued has its room already.
    const crowded = missing.length > 0 && full.length === 0 ? await crowdedFor(tx, job) : undefined
    // A cancelled job only undoes its effects; waiting for admission would keep it from ending.
    if ((full.length > 0 || crowded !== undefined) && !job.cancelRequested) {
      await waitForTokens(tx, {
        jobId: asked.id,
        generation: asked.generation,
        actor: `worker/${by.workerId}`,
        ...(crowded === undefined
          ? { reason: 'token', detail: waitsFor(full) }
          : { reason: 'room', detail: crowded }),
        untilMs: askAgainMs,
      })
      return undefined
    }
    if (full.length === 0) await holdTokens(tx, asked.id, 0, missing)
    const claimed = await claimJobWithTokens(tx, asked, by)
    if (claimed) return claimed
    // Paused a moment ago: others may have the tokens meanwhile, and the bell is rung again later.
    await admitToFreed(tx, await releaseReserved(tx, asked.id))
    await unringJobs(tx, [asked.id], 0)
    return undefined
  }) as Promise<ClaimedJob | undefined>

const sharingKinds = jobKinds.filter((kind) => kind.sharesSlots).map((kind) => kind.kind)

/** Slots of a kind are given out by one transaction at a time, like tokens. */
const slotLocks = (kinds: readonly string[]): string[] => sharing(kinds).map((kind) => `slots/${kind}`)

const sharing = (kinds: readonly string[]): string[] => [
  ...new Set(kinds.filter((kind) => findKind(kind)?.sharesSlots)),
]

const slotUse = (tx: Queryable, kinds: readonly string[]) =>
  readSlotUse(tx, sharing(kinds), dependencyClasses)

/** Why a job may not have a slot although all its tokens are free; undefined: it may. */
const crowdedFor = async (tx: Tx, job: SlotAsk & { readonly kind: string }): Promise<string | undefined> => {
  const use = (await slotUse(tx, [job.kind])).get(job.kind)
  const crowded = use && whatIsCrowded(job, use)
  if (crowded === undefined) return undefined
  return `the others of ${crowded} have as many of the ${use?.slots} slots for ${job.kind} as leave room to the rest`
}

/** Releases the tokens of ended jobs and admits waiters, in the transaction that ended them. */
export const releaseAndAdmit = async (tx: Tx, jobIds: readonly string[]): Promise<void> => {
  await admitToFreed(tx, await releaseTokens(tx, jobIds))
}

/** The same for jobs that go on and keep their tokens: releases only those that they no longer need. */
export const releaseDropped = async (tx: Tx, jobIds: readonly string[]): Promise<void> => {
  await admitToFreed(tx, await releaseUnasked(tx, jobIds))
}

const admitToFreed = async (tx: Tx, freed: readonly string[]): Promise<void> => {
  if (freed.length > 0) await admitWaiters(tx, freed)
}

/**
 * Admits the jobs that queue for these tokens, in order, each all or nothing. A waiter that cannot get all does not
 * hold the others back: a job that is stuck elsewhere does not block this token.
 */
export const admitWaiters = async (
  tx: Tx,
  tokens: readonly string[],
  known: Partial<Pick<FindWaiters, 'full' | 'crowded'>> = {},
): Promise<number> => {
  const { full = [], crowded = [] } = known
  const waiters = await findTokenWaiters(tx, {
    tokens,
    full,
    crowded,
    sharing: sharingKinds,
    alike: alikePerPass,
    limit: waitersPerPass,
  })
  if (waiters.length === 0) return 0
  const wanted = [...new Set(waiters.flatMap((waiter) => waiter.tokens))]
  const kinds = waiters.map(({ kind }) => kind)
  await lockTokens(tx, [...wanted, ...slotLocks(kinds)])
  const limits = await readAdmissionLimits(tx)
  const holds = new Map(await countTokenHolds(tx, wanted))
  const uses = await slotUse(tx, kinds)
  let admitted = 0
  for (const waiter of waiters) {
    const use = uses.get(waiter.kind)
    if (fullTokens(waiter.tokens, holds, limits).length > 0) continue
    if (use && whatIsCrowded(waiter, use) !== undefined) continue
    if (!(await admitWaiter(tx, waiter.id))) continue
    await holdTokens(tx, waiter.id, 0, waiter.tokens)
    for (const token of waiter.tokens) holds.set(token, (holds.get(token) ?? 0) + 1)
    if (use) takeSlot(use, waiter)
    admitted += 1
  }
  return admitted
}

const waitsFor = (tokens: readonly string[]): string => `waits for ${tokens.join(', ')}`

/**
 * Drops one token of a job that has not begun, and admits the job if its other tokens are free, in the caller's
 * transaction. False: the job runs by now, or never needed the token.
 */
export const letOffToken = async (tx: Tx, job: { id: string; token: string }): Promise<boolean> => {
  const left = await dropJobToken(tx, job, waitsFor)
  if (!left) return false
  if (await releaseToken(tx, job.id, job.token)) await admitWaiters(tx, [job.token])
  if (!left.inLine) return true
  if (left.tokens.length === 0) return admitWaiter(tx, job.id)
  // Jobs before it that still need the token would only be in its way.
  const full = fullTokens([job.token], await countTokenHolds(tx, [job.token]), await readAdmissionLimits(tx))
  await admitWaiters(tx, left.tokens, { full })
  return true
}

/**
 * The conductor's look at every queue: after a raised limit, a resumed lane, an interrupted release, or more waiters
 * for other tokens than one pass reads. Full tokens are left out, so the cost follows what is free.
 */
export const readmitAll = async (db: Db): Promise<number> => {
  for (let admitted = 0; ; ) {
    const { tokens: awaited, kinds } = await findAwaitedTokens(db)
    const full = fullTokens(awaited, await countTokenHolds(db, awaited), await readAdmissionLimits(db))
    const open = awaited.filter((token) => !full.includes(token))
    if (open.length === 0) return admitted
    const crowded = [...(await slotUse(db, kinds))].flatMap(([kind, use]) =>
      crowdedThings(use)
        .filter(({ length }) => length <= prunedMost)
        .map((things) => ({ kind, things })),
    )
    // All queues at once: one by one, a later waiter could be admitted before an earlier one of another queue.
    const more = (await db.begin((tx) => admitWaiters(tx, open, { full, crowded }))) as number
    if (more === 0) return admitted
    admitted += more
  }
}

/**
 * Takes tokens back from admitted jobs that no worker claimed for `olderMs`: their lane was paused, or no worker
 * serves their kind any more. They ask again when a worker comes; until then others get their turn.
 */
export const lapseReservations = async (db: Db, olderMs: number): Promise<number> =>
  (await db.begin(async (tx) => {
    const idle = await lockIdleReservations(tx, olderMs, waitersPerPass)
    await releaseAndAdmit(tx, idle)
    return idle.length
  })) as number

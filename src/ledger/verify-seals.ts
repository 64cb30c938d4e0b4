import { timingSafeEqual } from 'node:crypto'
import type { Queryable } from '../../db/client.ts'
import { rangeAfter } from '../../db/queries/seal-events.ts'
import {
  type CheckedSeal,
  countEventsBeforeEras,
  readSeal,
  readSealAfter,
  recomputeSeal,
  type StoredSeal,
} from '../../db/queries/verify-seals.ts'
import type { Sealer } from '../seal.ts'
import { sealText } from './seal-events.ts'

/** A seal as somebody noted it outside the database, to prove later that the tail was not cut off. */
export interface SealHead {
  readonly seq: number
  /** Hexadecimal. */
  readonly hash: string
}

export interface VerifySealsOptions {
  /** The first seal to check; its predecessor is taken as it is stored. */
  readonly from?: number
  /** The newest seal the caller knows of. Without it a cut-off tail looks like a shorter history. */
  readonly head?: SealHead
  /** How long events are kept. With it, a range that says it was pruned sooner is refused. */
  readonly keptDays?: number
  readonly signal?: AbortSignal
}

export interface SealReport {
  readonly ok: boolean
  readonly seals: number
  /** Events that were hashed anew. */
  readonly events: number
  /** Seals whose events retention took away: checked as links only. */
  readonly pruned: number
  /** The newest seal that holds. Note it elsewhere and give it as `head` the next time. */
  readonly head?: SealHead
  readonly firstBroken?: BrokenSeal
}

interface BrokenSeal {
  readonly seq: number
  readonly why: string
}

const dayMs = 24 * 3_600_000

/** Walks the chain, one seal a statement, in memory that does not grow; stops at the first link that is broken. */
export const verifySeals = async (
  db: Queryable,
  sealer: Pick<Sealer, 'mac'>,
  options: VerifySealsOptions = {},
): Promise<SealReport> => {
  const from = Math.max(options.from ?? 1, 1)
  const count = { seals: 0, events: 0, pruned: 0 }
  let previous = from > 1 ? await readSeal(db, from - 1) : undefined
  const report = (firstBroken?: BrokenSeal): SealReport => ({
    ok: firstBroken === undefined,
    ...count,
    ...(previous ? { head: { seq: previous.seq, hash: previous.hash.toString('hex') } } : {}),
    ...(firstBroken ? { firstBroken } : {}),
  })
  if (from > 1 && !previous) return report({ seq: from - 1, why: 'This seal is missing.' })
  if ((await countEventsBeforeEras(db)) > 0)
    return report({ seq: 1, why: 'There are events before the first era: they were inserted later.' })
  for (;;) {
    options.signal?.throwIfAborted()
    const stored = await readSealAfter(db, previous?.seq ?? 0)
    if (!stored) break
    const seal = await recomputeSeal(db, stored)
    const broken = brokenLink(seal, previous) ?? brokenMac(seal, sealer) ?? brokenHead(seal, options.head)
    if (broken) return report(broken)
    const why = seal.prunedAt
      ? await wrongAboutPruned(db, seal, previous, options.keptDays)
      : wrongAboutEvents(seal)
    if (why) return report({ seq: seal.seq, why })
    count.seals += 1
    if (seal.prunedAt) count.pruned += 1
    else count.events += seal.foundEvents
    previous = stored
  }
  const newest = previous?.seq ?? 0
  return report(brokenTail(newest, options.head))
}

const brokenLink = (seal: CheckedSeal, previous: StoredSeal | undefined): BrokenSeal | undefined => {
  const expected = rangeAfter(previous)
  if (seal.seq !== expected.seq) return { seq: expected.seq, why: 'This seal is missing.' }
  if (seal.era !== expected.era || seal.fromXid !== expected.fromXid)
    return { seq: seal.seq, why: 'This seal does not begin where the one before it ends.' }
  if (!same(seal.previousHash, expected.previousHash))
    return { seq: seal.seq, why: 'This seal does not name the hash of the one before it.' }
  return undefined
}

const brokenMac = (seal: CheckedSeal, sealer: Pick<Sealer, 'mac'>): BrokenSeal | undefined =>
  same(sealer.mac(sealText(seal, seal, seal.sealedAtMs)), seal.mac)
    ? undefined
    : { seq: seal.seq, why: "This seal was not signed with this installation's key." }

const brokenHead = (seal: CheckedSeal, head: SealHead | undefined): BrokenSeal | undefined =>
  head && head.seq === seal.seq && head.hash !== seal.hash.toString('hex')
    ? { seq: seal.seq, why: 'This is not the seal that is known under this number.' }
    : undefined

const brokenTail = (newest: number, head: SealHead | undefined): BrokenSeal | undefined =>
  head && head.seq > newest
    ? { seq: newest + 1, why: `The chain ends before this seal, but seal ${head.seq} is known to exist.` }
    : undefined

const wrongAboutEvents = (seal: CheckedSeal): string | undefined => {
  const missing = seal.events - seal.foundEvents
  if (missing > 0) return `${missing} of its ${seal.events} events are missing.`
  if (missing < 0) return `${-missing} events were inserted into its range.`
  return same(seal.foundHash, seal.hash)
    ? undefined
    : 'An event in its range is not what it was when it was sealed.'
}

/** Retention goes from the oldest on, and takes a large transaction's events away in several steps. */
const wrongAboutPruned = async (
  db: Queryable,
  seal: CheckedSeal,
  previous: StoredSeal | undefined,
  keptDays: number | undefined,
): Promise<string | undefined> => {
  // Read anew: retention may have come by since the one before was checked.
  if (previous && !(await readSeal(db, previous.seq))?.prunedAt)
    return 'Its events are gone as if by retention, but older ones are still there.'
  if (keptDays !== undefined && seal.sealedAtMs > Date.now() - keptDays * dayMs)
    return `Its events are gone as if by retention, but they are not ${keptDays} days old.`
  if (seal.foundEvents === 0) return undefined
  const unfinished = seal.foundEvents < seal.events && !(await readSeal(db, seal.seq + 1))?.prunedAt
  if (unfinished || (await recomputeSeal(db, seal)).foundEvents === 0) return undefined
  return 'There are events in its range, although retention took them away.'
}

const same = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b)

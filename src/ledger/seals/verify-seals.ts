import type { Queryable } from '../../../db/client.ts'
import { rangeAfter } from '../../../db/queries/seals/seal-events.ts'
import { readSeal, readSealsAfter, type StoredSeal } from '../../../db/queries/seals/verify-seals.ts'
import { eventsKeptDaysMin } from '../../domain/settings.ts'
import { many } from '../../domain/text/sentence.ts'
import { type Sealer, sameBytes } from '../../seal/seal.ts'
import type { SealHead } from '../../seal/seal-head.ts'
import { type SealKeys, sealKeys } from './former-keys.ts'
import { digestRange } from './seal-digest.ts'
import { type Accepted, PrunedSeals } from './verify-pruned.ts'

export interface VerifySealsOptions {
  /** The first seal to check; its predecessor is taken as stored. */
  readonly from?: number
  /** The newest seal that the caller knows. Without it a cut-off tail looks like a shorter history. */
  readonly head?: SealHead
  /** How long events are kept: the absence of younger events is a fault, whatever a statement says. */
  readonly keptDays?: number
  /** No event below this age may be pruned, whatever a setting says: DROVER_EVENTS_KEPT_DAYS_MIN. */
  readonly floorDays?: number
  readonly signal?: AbortSignal
}

export interface SealReport {
  readonly ok: boolean
  readonly seals: number
  /** Events that were hashed again. */
  readonly events: number
  /** Seals whose events retention has removed: checked as links, and by the signed statement about them. */
  readonly pruned: number
  /** Events that were gone before statements existed: accepted as they were at that time. */
  readonly accepted?: Accepted
  /** The newest valid seal. Note it elsewhere and pass it as `head` the next time. */
  readonly head?: SealHead
  readonly firstBroken?: BrokenSeal
  /** What this run could not have seen, each a sentence. */
  readonly notShown: readonly string[]
}

interface BrokenSeal {
  readonly seq: number
  readonly why: string
}

const pageSeals = 200

/** Walks the chain in constant memory, and stops at the first broken link. */
export const verifySeals = async (
  db: Queryable,
  sealer: Pick<Sealer, 'isMac' | 'open'>,
  options: VerifySealsOptions = {},
): Promise<SealReport> => {
  const walk = new Walk(db, await sealKeys(db, sealer), options)
  const broken = await walk.run()
  return walk.report(broken)
}

class Walk {
  readonly #db: Queryable
  readonly #keys: SealKeys
  readonly #options: VerifySealsOptions
  readonly #pruned: PrunedSeals
  readonly #count = { seals: 0, events: 0, pruned: 0 }
  #previous: StoredSeal | undefined
  #previousPruned = true
  /** Heads that the caller noted, and heads sealed when a key was replaced; those not yet passed. */
  readonly #heads: Set<SealHead>

  constructor(db: Queryable, keys: SealKeys, options: VerifySealsOptions) {
    this.#db = db
    this.#keys = keys
    this.#heads = new Set([...(options.head ? [options.head] : []), ...keys.heads])
    this.#options = options
    const { keptDays, floorDays = eventsKeptDaysMin } = options
    this.#pruned = new PrunedSeals({ db, keys, keptDays, floorDays })
  }

  async run(): Promise<BrokenSeal | undefined> {
    const from = Math.max(this.#options.from ?? 1, 1)
    if (from > 1) {
      this.#previous = await readSeal(this.#db, from - 1)
      if (!this.#previous) return { seq: from - 1, why: 'This seal is missing.' }
      this.#previousPruned = true
    }
    const early = await this.#pruned.wrongBefore()
    if (early) return early
    for (;;) {
      const page = await readSealsAfter(this.#db, this.#previous?.seq ?? 0, pageSeals)
      for (const seal of page) {
        this.#options.signal?.throwIfAborted()
        const broken = await this.#check(seal)
        if (broken) return broken
      }
      if (page.length < pageSeals) break
    }
    return this.#brokenTail()
  }

  report(firstBroken: BrokenSeal | undefined): SealReport {
    const previous = this.#previous
    const accepted = this.#pruned.accepted
    return {
      ok: firstBroken === undefined,
      ...this.#count,
      ...(accepted ? { accepted } : {}),
      ...(previous ? { head: { seq: previous.seq, hash: previous.hash.toString('hex') } } : {}),
      ...(firstBroken ? { firstBroken } : {}),
      notShown: notShown(this.#options, { accepted, last: previous, unprovedTo: this.#keys.unprovedTo }),
    }
  }

  async #check(seal: StoredSeal): Promise<BrokenSeal | undefined> {
    const broken = brokenLink(seal, this.#previous) ?? this.#brokenMac(seal) ?? this.#brokenHead(seal)
    if (broken) return broken
    const why = await this.#wrongAboutEvents(seal)
    if (why) return { seq: seal.seq, why }
    this.#count.seals += 1
    this.#previous = seal
    return undefined
  }

  async #wrongAboutEvents(seal: StoredSeal): Promise<string | undefined> {
    if (!(await this.#pruned.covers(seal.seq))) {
      const why = await this.#wrongAboutKept(seal)
      // Read again: retention may have run while the events were read.
      if (!why || !(await this.#pruned.coversNow(seal.seq))) return why
    }
    const before = this.#previous
    if (before && !this.#previousPruned && !(await this.#pruned.coversNow(before.seq)))
      return 'Its events are gone as if by retention, but older ones are still there.'
    const why = await this.#pruned.wrongAbout(seal)
    if (why) return why
    this.#previousPruned = true
    this.#count.pruned += 1
    return undefined
  }

  async #wrongAboutKept(seal: StoredSeal): Promise<string | undefined> {
    const found = await digestRange(this.#db, seal, seal.version)
    const missing = seal.events - found.events
    if (missing > 0)
      return `${many(missing, `of its ${seal.events} events is`, `of its ${seal.events} events are`)} missing, and no signed statement says that retention took them.`
    if (missing < 0) return `${many(-missing, 'event was', 'events were')} inserted into its range.`
    if (!sameBytes(found.hash, seal.hash))
      return 'An event in its range is not what it was when it was sealed.'
    this.#count.events += found.events
    this.#previousPruned = false
    return undefined
  }

  #brokenMac(seal: StoredSeal): BrokenSeal | undefined {
    return this.#keys.proveSeal(seal)
      ? undefined
      : { seq: seal.seq, why: "This seal was not signed with this installation's key." }
  }

  #brokenHead(seal: StoredSeal): BrokenSeal | undefined {
    for (const head of this.#heads) {
      if (head.seq !== seal.seq) continue
      this.#heads.delete(head)
      if (head.hash !== seal.hash.toString('hex'))
        return { seq: seal.seq, why: 'This is not the seal that is known under this number.' }
    }
    return undefined
  }

  /** Heads before the requested part are looked up one by one. */
  async #brokenTail(): Promise<BrokenSeal | undefined> {
    const newest = this.#previous?.seq ?? 0
    for (const head of this.#heads) {
      if (head.seq > newest)
        return {
          seq: newest + 1,
          why: `The chain ends before this seal, but seal ${head.seq} is known to exist.`,
        }
      const stored = await readSeal(this.#db, head.seq)
      if (!stored) return { seq: head.seq, why: 'This seal is known to exist, and is missing.' }
      const broken = this.#brokenHead(stored)
      if (broken) return broken
    }
    return undefined
  }
}

const brokenLink = (seal: StoredSeal, previous: StoredSeal | undefined): BrokenSeal | undefined => {
  const expected = rangeAfter(previous)
  if (seal.seq !== expected.seq) return { seq: expected.seq, why: 'This seal is missing.' }
  if (seal.era !== expected.era || seal.fromXid !== expected.fromXid)
    return { seq: seal.seq, why: 'This seal does not begin where the one before it ends.' }
  if (!sameBytes(seal.previousHash, expected.previousHash))
    return { seq: seal.seq, why: 'This seal does not name the hash of the one before it.' }
  return undefined
}

const notShown = (
  { from = 1, head, keptDays, floorDays = eventsKeptDaysMin }: VerifySealsOptions,
  found: {
    readonly accepted: Accepted | undefined
    readonly last: StoredSeal | undefined
    readonly unprovedTo: number
  },
): string[] => [
  ...(head
    ? []
    : ['A cut-off tail cannot be seen without a noted head: give one that was handed out (--head).']),
  ...(keptDays === undefined
    ? [
        `Events that were removed sooner than you keep them, but after ${floorDays} days, are not told apart: give the retention time (--kept-days).`,
      ]
    : []),
  ...(from > 1 ? [`Nothing before seal ${from} was looked at.`] : []),
  ...(found.accepted
    ? [
        `Whether events of seals 1 to ${found.accepted.toSeq} were removed by retention alone: they were gone before.`,
      ]
    : []),
  ...(found.unprovedTo > 0
    ? [
        `Whether seals 1 to ${found.unprovedTo} were signed by this installation: the key is lost, and what was there when it was given up is taken as it was.`,
      ]
    : []),
  // Seconds, when all is well; a transaction that is held open keeps everything after it from being sealed.
  found.last
    ? `Events that were written after ${new Date(found.last.sealedAtMs).toISOString()} are not sealed yet.`
    : 'No event is sealed yet.',
]

import type { Queryable } from '../../../db/client.ts'
import { hasEvents } from '../../../db/queries/events/prune-events.ts'
import { oldestEvent } from '../../../db/queries/events/read-event-bytes.ts'
import {
  type PruneStatement,
  readNewestStatement,
  readSeal,
  readStatementAbout,
  readStatementsBelow,
  type StoredSeal,
} from '../../../db/queries/seals/verify-seals.ts'
import { sameBytes } from '../../seal/seal.ts'
import type { SealKeys } from './former-keys.ts'
import { digestRange } from './seal-digest.ts'

export const dayMs = 24 * 3_600_000

/** Statements that are read to find the last valid one: others may have been put after it. */
const statementsMost = 500

/** Accepted as it was when statements were introduced. */
export interface Accepted {
  readonly toSeq: number
  readonly atMs: number
}

export interface PrunedSealsOptions {
  readonly db: Queryable
  readonly keys: SealKeys
  readonly keptDays: number | undefined
  readonly floorDays: number
}

/** Seals whose events are gone, and the signed statements about them. */
export class PrunedSeals {
  readonly #options: PrunedSealsOptions
  #statement: PruneStatement | undefined
  #accepted: Accepted | undefined

  constructor(options: PrunedSealsOptions) {
    this.#options = options
  }

  get accepted(): Accepted | undefined {
    return this.#accepted
  }

  /** Whether a statement refers to the seal. `wrongAbout` tells whether it is valid. */
  async covers(seq: number): Promise<boolean> {
    const known = this.#statement
    if (known && seq >= known.fromSeq && seq <= known.toSeq) return true
    return await this.coversNow(seq)
  }

  async coversNow(seq: number): Promise<boolean> {
    const found = await readStatementAbout(this.#options.db, seq)
    if (found) this.#statement = found
    return found !== undefined
  }

  /** What is wrong about a seal that a statement refers to and whose own link and signature are valid. */
  async wrongAbout(seal: StoredSeal): Promise<string | undefined> {
    const { keys, floorDays, keptDays } = this.#options
    const said = this.#statement
    if (!said || !keys.proveStatement(said))
      return "The statement that retention took its events away was not signed with this installation's key."
    if (seal.seq === said.toSeq && !sameBytes(said.throughHash, seal.hash))
      return 'The statement that retention took its events away is about another chain.'
    const wrongKind = said.kind === 'accepted' && (said.fromSeq !== 1 || seal.version !== 1)
    if (wrongKind) return 'Its events were accepted as gone, but it is not of the time before statements.'
    if (seal.sealedAtMs > said.atMs - said.keptDays * dayMs)
      return `Its events are gone as if by retention, but they were not ${said.keptDays} days old.`
    // Checked after the statement's own contradictions: a statement that was valid when made is the milder finding.
    if (said.keptDays < floorDays) return await this.#belowFloor(said)
    if (keptDays !== undefined && seal.sealedAtMs > Date.now() - keptDays * dayMs)
      return `Its events are gone as if by retention, but they are not ${keptDays} days old: the signed statement about them names ${said.keptDays}.`
    if (said.kind === 'accepted') this.#accepted = { toSeq: said.toSeq, atMs: said.atMs }
    return undefined
  }

  /**
   * Nobody can tell from outside whether the floor was lower for all processes then, or for one that should not have
   * run so. It stays a fault, with everything that a person needs to decide, and with the way past it.
   */
  async #belowFloor(said: PruneStatement): Promise<string> {
    const { db, keys, floorDays } = this.#options
    const below = await readStatementsBelow(db, floorDays, statementsMost)
    const last = below.find((statement) => keys.proveStatement(statement)) ?? said
    return (
      `Its events were pruned by ${said.prunedBy} on ${new Date(said.atMs).toISOString()}, signed with this ` +
      `installation's key, under a retention of ${said.keptDays} days, and DROVER_EVENTS_KEPT_DAYS_MIN is ${floorDays} ` +
      'now. If it was raised since then, they were kept as long as they should be, and nothing is wrong here: check ' +
      `the rest from seal ${last.toSeq + 1}; otherwise that process ran with a lower one that it should not have had.`
    )
  }

  /** Everything pruned lies before the oldest event, except for a large range that is being removed in steps. */
  async wrongBefore(): Promise<{ seq: number; why: string } | undefined> {
    const { db } = this.#options
    // The statement first: retention may run before the oldest event is read, and then that is a younger one.
    const newest = await readNewestStatement(db)
    const last = newest ? await readSeal(db, newest.toSeq) : undefined
    const oldest = await oldestEvent(db)
    if (oldest && oldest.era < 1)
      return { seq: 1, why: 'There are events before the first era: they were inserted later.' }
    if (!last || !oldest || !isBefore(oldest, last.era, last.toXid)) return undefined
    if (isBefore(oldest, last.era, last.fromXid))
      return { seq: 1, why: 'There are events in ranges from here on, although retention took them away.' }
    if ((await digestRange(db, last, last.version)).events < last.events) return undefined
    if (!(await hasEvents(db, last))) return undefined
    return { seq: last.seq, why: 'There are events in its range, although retention took them away.' }
  }
}

const isBefore = (event: { readonly era: number; readonly xid: string }, era: number, xid: string): boolean =>
  event.era < era || (event.era === era && BigInt(event.xid) < BigInt(xid))

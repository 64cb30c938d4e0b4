import type { Db } from '../../../db/client.ts'
import { insertAuditEvent } from '../../../db/queries/events/insert-audit-event.ts'
import { hasEvents, pruneEvents as removeEvents } from '../../../db/queries/events/prune-events.ts'
import { rangeAfter } from '../../../db/queries/seals/seal-events.ts'
import {
  type PruneStatement,
  readFirstSealOfVersion,
  readNewestStatement,
  readSeal,
  readSealsAfter,
  type StoredSeal,
} from '../../../db/queries/seals/verify-seals.ts'
import { type Sealer, sameBytes } from '../../seal/seal.ts'
import { type SealKeys, sealKeys } from './former-keys.ts'
import { sealVersion } from './seal-digest.ts'
import { pruneText } from './seal-texts.ts'
import { dayMs } from './verify-pruned.ts'

export interface PruneEventsOptions {
  readonly db: Db
  readonly sealer: Pick<Sealer, 'mac' | 'isMac' | 'open'>
  /** How long events are kept: the larger of this and the floor counts. */
  readonly days: number
  /** From this process's environment, out of reach of the database. */
  readonly floorDays: number
  /** Events that one call removes. */
  readonly limit: number
  /** The signer named in the statement. */
  readonly by: string
  readonly nowMs?: number
}

export interface PrunedEvents {
  readonly events: number
  readonly more: boolean
  /** Why nothing may be removed although it is old enough. */
  readonly refused?: string
}

/** Statements are made once an hour, about everything that is due: each is an event and a permanent row. */
const gatherMs = 3_600_000
/** The database function checks its own clock too. */
const skewMs = 600_000
/** By then, and with the floor's days, everything that the version before pruned is old enough to be accepted. */
const upgradeMs = 7 * dayMs
const sealsPerStatement = 2_000

/**
 * Removes one batch of events that were sealed long ago: the oldest sealed ranges, or the rest of the last one. The
 * seals stay, and a statement, signed like a seal, says which events went, when, under which retention and by whom.
 * The age comes from the seals' own signatures, by this process's clock. An unsealed event is never removed.
 */
export const pruneEvents = async (options: PruneEventsOptions): Promise<PrunedEvents> => {
  const { db, limit } = options
  const newest = await readNewestStatement(db)
  const last = newest ? await readSeal(db, newest.toSeq) : undefined
  if (newest && !(await sealKeys(db, options.sealer)).proveStatement(newest))
    return { events: 0, more: false, ...broken(newest.fromSeq) }
  if (newest && last && (await hasEvents(db, last)))
    return { events: await removeEvents(db, newest, limit), more: true }
  const found = newest
    ? await dueSeals(options, last)
    : ((await goneBefore(options)) ?? (await dueSeals(options, undefined)))
  if ('refused' in found) return { events: 0, more: false, refused: found.refused }
  const through = found.seals.at(-1)
  const from = found.seals[0]
  if (!through || !from) return { events: 0, more: false }
  const events = await state(options, { from, through, kind: found.kind })
  return { events, more: true }
}

/** `seals`: all, or the first and the last. */
interface Due {
  readonly kind: PruneStatement['kind']
  readonly seals: readonly StoredSeal[]
}
interface Refused {
  readonly refused: string
}

const keptDays = ({ days, floorDays }: PruneEventsOptions): number => Math.max(days, floorDays)

/** The next seals that are old enough, with about `limit` events; at least one, however large. */
const dueSeals = async (
  options: PruneEventsOptions,
  last: StoredSeal | undefined,
): Promise<Due | Refused> => {
  const oldestKept = (options.nowMs ?? Date.now()) - keptDays(options) * dayMs - skewMs
  const seals: StoredSeal[] = []
  let events = 0
  let previous = last
  const keys = await sealKeys(options.db, options.sealer)
  for (const seal of await readSealsAfter(options.db, last?.seq ?? 0, sealsPerStatement)) {
    events += seal.events
    const young = seal.sealedAtMs >= (seals.length === 0 ? oldestKept - gatherMs : oldestKept)
    if (young || (seals.length > 0 && events > options.limit)) break
    if (!follows(keys, seal, previous)) return broken(seal.seq)
    seals.push(seal)
    previous = seal
  }
  return { kind: 'pruned', seals }
}

/**
 * Seals that the version before marked as pruned, without a statement: accepted once, when all of them are older than
 * the floor. Undefined when there are none.
 */
const goneBefore = async (options: PruneEventsOptions): Promise<Due | Refused | undefined> => {
  const oldestKept = (options.nowMs ?? Date.now()) - options.floorDays * dayMs - skewMs
  const keys = await sealKeys(options.db, options.sealer)
  const ends: StoredSeal[] = []
  let previous: StoredSeal | undefined
  for (;;) {
    const page = await readSealsAfter(options.db, previous?.seq ?? 0, sealsPerStatement)
    const marked = page.findIndex((seal) => seal.prunedAt === null)
    for (const seal of marked === -1 ? page : page.slice(0, marked)) {
      if (seal.version !== 1 || !follows(keys, seal, previous)) return broken(seal.seq)
      if (seal.sealedAtMs >= oldestKept)
        return {
          refused:
            `Events of seal ${seal.seq} were removed by an earlier version before they were ${options.floorDays} ` +
            'days old. Nothing more is removed until they would be; or set DROVER_EVENTS_KEPT_DAYS_MIN to the ' +
            'retention that was in force.',
        }
      if (ends.length === 0) ends.push(seal)
      previous = seal
    }
    if (marked !== -1 || page.length < sealsPerStatement) break
  }
  if (!previous) return undefined
  const began = await readFirstSealOfVersion(options.db, sealVersion)
  if (began && began.sealedAtMs < oldestKept - upgradeMs)
    return {
      refused:
        `Seals 1 to ${previous.seq} are marked as pruned without a statement, and it is too long since the upgrade to ` +
        'accept that. No event is removed; drover events verify says what is missing.',
    }
  return { kind: 'accepted', seals: [...ends, previous] }
}

const follows = (keys: SealKeys, seal: StoredSeal, previous: StoredSeal | undefined): boolean => {
  const expected = rangeAfter(previous)
  return (
    seal.seq === expected.seq && sameBytes(seal.previousHash, expected.previousHash) && keys.proveSeal(seal)
  )
}

const broken = (seq: number): Refused => ({
  refused: `The chain of seals is broken at seal ${seq}; drover events verify says how. No event is removed.`,
})

/** Signs the statement, and lets the owner's function store it and remove the first events, in one transaction. */
const state = async (
  options: PruneEventsOptions,
  found: { readonly from: StoredSeal; readonly through: StoredSeal; readonly kind: PruneStatement['kind'] },
): Promise<number> => {
  const { from, through, kind } = found
  const unsigned = {
    fromSeq: from.seq,
    toSeq: through.seq,
    kind,
    keptDays: kind === 'accepted' ? options.floorDays : keptDays(options),
    throughHash: through.hash,
    prunedBy: options.by,
    atMs: options.nowMs ?? Date.now(),
  }
  const statement = { ...unsigned, mac: options.sealer.mac(pruneText(unsigned)) }
  const { fromSeq, toSeq } = statement
  return (await options.db.begin(async (tx) => {
    const events = await removeEvents(tx, statement, options.limit)
    await insertAuditEvent(tx, {
      type: kind === 'accepted' ? 'events.accepted' : 'events.pruned',
      subject: { type: 'event-chain', id: 'pruned' },
      actor: options.by,
      detail: { from_seq: fromSeq, to_seq: toSeq, kept_days: statement.keptDays },
    })
    return events
  })) as number
}

import type { Db, Tx } from '../../../db/client.ts'
import { insertAuditEvent } from '../../../db/queries/events/insert-audit-event.ts'
import { deleteSealsFrom, lockSeals } from '../../../db/queries/seals/repair-seals.ts'
import { rangeAfter } from '../../../db/queries/seals/seal-events.ts'
import { readSeal, readSealsAfter, type StoredSeal } from '../../../db/queries/seals/verify-seals.ts'
import { type Sealer, sameBytes } from '../../seal/seal.ts'
import type { SealHead } from '../../seal/seal-head.ts'
import { type SealKeys, sealKeys } from './former-keys.ts'
import { changedElsewhere, headAgainst, headLost, headNeeded } from './repair-errors.ts'
import { type RepairedStatements, repairStatements } from './repair-statements.ts'
import { digestRange } from './seal-digest.ts'

export interface RepairOptions {
  readonly db: Db
  readonly sealer: Sealer
  /** Noted outside the database, which cannot vouch for itself. `none`: a person said that there is none. */
  readonly heads: readonly SealHead[] | 'none'
}

export interface RepairReport {
  /** Seals that were removed: the first was not made by us, and the others build on it. Their events are unproved. */
  readonly seals: readonly { readonly seq: number; readonly hash: string; readonly ours: boolean }[]
  /** Statements about pruning that were not ours. */
  readonly statements: readonly RepairedStatements[]
  /** The newest noted head that the chain holds. */
  readonly head: number | null
}

const pageSeals = 200

/**
 * Removes what a login with insert rights on seals and statements has added without our key, so that sealing continues
 * after the last valid link. No event is changed or deleted. If an event was changed after it was sealed, as far as
 * seals and noted heads show, nothing is done, because sealing again would hide it. An event records everything that
 * is removed.
 */
export const repairSeals = async ({ db, sealer, heads }: RepairOptions): Promise<RepairReport> =>
  (await db.begin(async (begun) => {
    const tx = begun as unknown as Tx
    await lockSeals(tx)
    const keys = await sealKeys(tx, sealer)
    // Statements first: they refer to seals, and which of those are valid is decided afterwards.
    const statements = await repairStatements(tx, { keys, sealer })
    const seals = await removeFalseSeals(tx, keys, heads)
    const head = heads === 'none' ? null : Math.max(0, ...heads.map(({ seq }) => seq)) || null
    if (seals.length + statements.length > 0)
      await insertAuditEvent(tx, {
        type: 'sealing.repaired',
        subject: { type: 'event-chain', id: 'seals' },
        actor: 'repair-seals',
        detail: { seals, statements, head, unproved_from: seals[0]?.seq ?? null },
      })
    return { seals, statements, head }
  })) as RepairReport

const removeFalseSeals = async (
  tx: Tx,
  keys: SealKeys,
  heads: RepairOptions['heads'],
): Promise<RepairReport['seals']> => {
  const removed: { seq: number; hash: string; ours: boolean }[] = []
  let previous: StoredSeal | undefined
  for (;;) {
    const page = await readSealsAfter(tx, previous?.seq ?? 0, pageSeals)
    for (const seal of page) {
      const ours = keys.proveSeal(seal)
      const follows = seal.seq === rangeAfter(previous).seq && standsOn(seal, previous)
      if (removed.length === 0 && ours && !follows) throw changedElsewhere(seal.seq)
      if (removed.length > 0 && ours && !(await standsOnFalse(tx, seal, previous)))
        throw changedElsewhere(seal.seq)
      if (removed.length > 0 || !ours) removed.push({ seq: seal.seq, hash: seal.hash.toString('hex'), ours })
      previous = seal
    }
    if (page.length < pageSeals) break
  }
  const first = removed[0]
  if (first && keys.heads.some(({ seq }) => seq >= first.seq)) throw changedElsewhere(first.seq)
  if (first && heads.length === 0) throw headNeeded(first.seq)
  await holdHeads(tx, heads, first?.seq)
  if (first) await deleteSealsFrom(tx, first.seq)
  return removed
}

/** The noted heads were valid: a head must neither be removed nor differ from what stays. */
const holdHeads = async (tx: Tx, heads: RepairOptions['heads'], first: number | undefined): Promise<void> => {
  if (heads === 'none') return
  for (const head of heads) {
    if (first !== undefined && head.seq >= first) throw headAgainst(head, first)
    if ((await readSeal(tx, head.seq))?.hash.toString('hex') !== head.hash) throw headLost(head)
  }
}

const standsOn = (seal: StoredSeal, previous: StoredSeal | undefined): boolean =>
  sameBytes(seal.previousHash, rangeAfter(previous).previousHash)

/** One of our conductors continued after the false seal, and the events that it sealed are as it saw them. */
const standsOnFalse = async (
  tx: Tx,
  seal: StoredSeal,
  previous: StoredSeal | undefined,
): Promise<boolean> => {
  if (!standsOn(seal, previous)) return false
  const { events, hash } = await digestRange(tx, seal, seal.version)
  return events === seal.events && sameBytes(hash, seal.hash)
}

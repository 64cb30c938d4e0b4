import type { Db, Queryable } from '../../db/client.ts'
import { insertAuditEvent } from '../../db/queries/events/insert-audit-event.ts'
import { forgetFormerKey, saveFormerKey } from '../../db/queries/seals/former-keys.ts'
import { deleteSealingKey } from '../../db/queries/seals/sealing-keys.ts'
import { readNewestSeal, readNewestStatement } from '../../db/queries/seals/verify-seals.ts'
import { replaceLostKey } from '../certificate/installation-key.ts'
import type { Clock } from '../clock.ts'
import { sealFormerKey } from '../ledger/seals/former-keys.ts'
import { verifySeals } from '../ledger/seals/verify-seals.ts'
import { macKeyOf, type Sealer, sealKeyId, secretKeyId } from '../seal/seal.ts'
import type { SealHead } from '../seal/seal-head.ts'
import { enterKey, leaveOtherKeys, readKeyIds, readShownKeyIds } from './key-check.ts'
import { keyDiffers, keyUnseen } from './key-errors.ts'
import { type SealedName, sealedThings } from './sealed-things.ts'

export interface RekeyOptions {
  readonly db: Db
  readonly sealer: Sealer
  /** The keys that are to be replaced. */
  readonly oldHexKeys: readonly string[]
  /** A key that the database is sealed with is gone: what it sealed is given up. */
  readonly lost: boolean
  readonly clock: Clock
  /** For processes that lack a key in use to notice and end: see `keyWatch`. */
  readonly graceMs: number
  /** `DROVER_EVENTS_KEPT_DAYS_MIN`: events that were pruned under fewer days count as taken away. */
  readonly floorDays: number
}

export interface RekeyReport {
  readonly keyId: string
  /** Keys that were in use, and are not any more. */
  readonly replaced: readonly string[]
  /** Keys that were in use and that nobody has: what they sealed is given up. */
  readonly lost: readonly string[]
  /** Keys that nobody has and that have sealed nothing: somebody put them into the list. */
  readonly unseen: readonly string[]
  /** The newest seal of events: what holds them where a key is lost. */
  readonly head?: SealHead
  readonly sealed: number
  /** Sealed with the current key before. */
  readonly already: number
  /** What no key that was given opens: to be entered again. */
  readonly unopened: readonly SealedName[]
  /** Why the chain of events does not hold; then the old keys stay in use. */
  readonly brokenChain?: string
}

/**
 * Seals everything with the current key, one thing a statement, so that it can be interrupted, repeated, and done beside
 * running processes. Keys that were in use are then former ones: what proves the events that they signed is kept, sealed.
 */
export const rekey = async (options: RekeyOptions): Promise<RekeyReport> => {
  const { db, sealer, clock, graceMs } = options
  const { inUse, lost, unseen } = await sortKeys(options)
  const [missing] = lost
  await forgetFormerKey(db, sealer.keyId)
  if (missing === undefined) await enterKey(db, sealer)
  else await leaveOtherKeys(db, sealer)
  if (inUse.some((id) => id !== sealer.keyId)) await clock.sleep(graceMs)
  const counts = await sealAll(db, sealer)
  const head = await readHead(db)
  const report = { keyId: sealer.keyId, unseen, ...counts, ...(head.seq > 0 ? { head } : {}) }
  const replaced = [...new Set([...inUse, ...options.oldHexKeys.map(secretKeyId)])].filter(
    (id) => id !== sealer.keyId && !lost.includes(id),
  )
  const brokenChain = await keepProof(options, lost, head)
  if (brokenChain !== undefined) return { ...report, replaced: [], lost: [], brokenChain }
  await db.begin(async (tx) => {
    if (lost.length > 0) await replaceLostKey(tx as never, sealer)
    await leaveOtherKeys(tx as unknown as Queryable, sealer)
    await insertAuditEvent(tx as unknown as Queryable, {
      type: 'sealing.rekeyed',
      subject: { type: 'sealing-key', id: sealer.keyId },
      actor: 'rekey',
      detail: {
        ...{ replaced: [...replaced, ...lost], lost, unseen, sealed: counts.sealed },
        unopened: counts.unopened.map(({ name }) => name),
      },
    })
  })
  return { ...report, replaced, lost }
}

interface SortedKeys {
  readonly inUse: readonly string[]
  readonly lost: readonly string[]
  readonly unseen: readonly string[]
}

/** Which keys are in use, which of them nobody has, and which of those are in the list alone. */
const sortKeys = async ({ db, sealer, lost, floorDays }: RekeyOptions): Promise<SortedKeys> => {
  const listed = await readKeyIds(db)
  const missing = listed.filter((id) => !sealer.keyIds.includes(id))
  const [first] = missing
  if (first === undefined) return { inUse: listed, lost: [], unseen: [] }
  if (!lost) throw keyDiffers(first, sealer.keyIds)
  const shown = await readShownKeyIds(db)
  const unseen = missing.filter((id) => !shown.has(id))
  // A key that seems to have done nothing may still have signed the events: giving it up would attest them unproved.
  const [doubtful] = unseen
  const unproved = async () => !(await verifySeals(db, sealer, { floorDays })).ok
  if (doubtful !== undefined && (await unproved()) && unseen.length === missing.length)
    throw keyUnseen(doubtful)
  for (const id of unseen) await deleteSealingKey(db, id)
  const gone = (id: string) => unseen.includes(id)
  return { inUse: listed.filter((id) => !gone(id)), lost: missing.filter((id) => !gone(id)), unseen }
}

const readHead = async (db: Db): Promise<SealHead> => {
  const newest = await readNewestSeal(db)
  return { seq: newest?.seq ?? 0, hash: newest?.hash.toString('hex') ?? '' }
}

const sealAll = async (db: Db, sealer: Sealer) => {
  let [sealed, already] = [0, 0]
  const unopened: SealedName[] = []
  for await (const thing of sealedThings(db)) {
    const { dispensable, place, sealed: was, replace } = thing
    if (sealKeyId(was) === sealer.keyId) {
      already += 1
      continue
    }
    let text: string
    try {
      text = sealer.open(was, place)
    } catch {
      if (!dispensable) unopened.push(thing)
      continue
    }
    // Where somebody was faster, what they stored is sealed with a key in use: the next round finds it.
    if (await replace(db, sealer.seal(text, place))) sealed += 1
  }
  return { sealed, already, unopened }
}

/**
 * MACs of the past cannot be made anew without trusting what they prove. So the part of each old key that made them is
 * kept, sealed, together with the newest seal that held; a chain that does not hold is attested by nobody.
 */
const keepProof = async (
  { db, sealer, oldHexKeys, floorDays }: RekeyOptions,
  lost: readonly string[],
  newest: SealHead,
): Promise<string | undefined> => {
  const head = { ...newest, prunedSeq: (await readNewestStatement(db))?.toSeq ?? 0 }
  if (lost.length === 0) {
    const { ok, firstBroken } = await verifySeals(db, sealer, {
      floorDays,
      ...(newest.seq > 0 ? { head } : {}),
    })
    if (!ok) return `Seal ${firstBroken?.seq}: ${firstBroken?.why}`
  }
  for (const hexKey of oldHexKeys)
    await keep(db, sealer, { id: secretKeyId(hexKey), macKey: macKeyOf(hexKey), ...head })
  for (const id of lost) await keep(db, sealer, { id, macKey: null, ...head })
  return undefined
}

const keep = async (
  db: Queryable,
  sealer: Sealer,
  key: Parameters<typeof sealFormerKey>[1],
): Promise<void> => {
  if (key.id !== sealer.keyId) await saveFormerKey(db, { id: key.id, sealed: sealFormerKey(sealer, key) })
}

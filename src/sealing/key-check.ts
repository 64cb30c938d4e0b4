import { type Db, isDbAway, type Queryable, type Tx } from '../../db/client.ts'
import { checkSchema } from '../../db/migrate/schema-check.ts'
import { listFormerKeys } from '../../db/queries/seals/former-keys.ts'
import { readSealHeads } from '../../db/queries/seals/seal-heads.ts'
import {
  deleteFormerList,
  deleteSealingKeysBut,
  hasFormerList,
  insertSealingKey,
  listSealingKeys,
  lockSealingKeys,
  type SealingKeyRow,
} from '../../db/queries/seals/sealing-keys.ts'
import { refusedStatement } from '../errors.ts'
import type { Logger } from '../process/log.ts'
import { type Sealer, sealKeyId } from '../seal/seal.ts'
import { keyCheckPlace } from '../seal/seal-places.ts'
import { keyDiffers, keyNotEntered, keyReplaced, sealedBefore } from './key-errors.ts'

const checkOf = (sealer: Sealer): SealingKeyRow => ({
  id: sealer.keyId,
  checkValue: sealer.seal('drover', keyCheckPlace),
})

/**
 * Whether this process has every key that the database is sealed with, and seals with a key that everybody else was told
 * of; throws who lacks what. With a wrong key it would start fine, and every migration would end in conflict with its
 * source off. Nothing is written.
 */
export const checkKey = async (db: Queryable, sealer: Sealer): Promise<void> => {
  const inUse = await checkRing(db, sealer)
  if (inUse.length > 0 && !inUse.some(({ id }) => id === sealer.keyId)) throw keyNotEntered(sealer.keyId)
}

const checkRing = async (db: Queryable, sealer: Sealer): Promise<readonly SealingKeyRow[]> => {
  const inUse = await listSealingKeys(db)
  if (inUse.length === 0) {
    await checkSeals(db, sealer)
    return inUse
  }
  requireAll(inUse, sealer)
  const former = await listFormerKeys(db)
  if (former.some(({ id }) => id === sealer.keyId)) throw keyReplaced(sealer.keyId)
  return inUse
}

const requireAll = (inUse: readonly SealingKeyRow[], sealer: Sealer): void => {
  for (const { id, checkValue } of inUse) {
    if (!sealer.keyIds.includes(id)) throw keyDiffers(id, sealer.keyIds)
    sealer.open(checkValue, keyCheckPlace)
  }
}

/** Of a database that was never told its key: what its seals say. */
const checkSeals = async (db: Queryable, sealer: Sealer): Promise<void> => {
  const { heads, clearUrls } = await readSealHeads(db)
  if (isOfBefore({ heads, clearUrls })) throw sealedBefore()
  const foreign = heads.map(headKeyId).find((id) => id !== undefined && !sealer.keyIds.includes(id))
  if (foreign !== undefined) throw keyDiffers(foreign, sealer.keyIds)
}

/** Format and key id are enough to tell, whatever follows. */
const headKeyId = (head: Buffer): string | undefined => sealKeyId(Buffer.concat([head, Buffer.alloc(64)]))

/**
 * A database that the upgrade has not seen. Once it has, everything carries a place, and an old seal among the new ones
 * was put there by somebody: it stays shut.
 */
export const isOfBefore = ({ heads, clearUrls }: Awaited<ReturnType<typeof readSealHeads>>): boolean =>
  (heads.length > 0 || clearUrls) && heads.every((head) => headKeyId(head) === undefined)

/**
 * The same, and writes down that this process's key is in use from now on: whoever lacks it then ends, or does not start.
 * For the owner of the database alone: a role that could write the list could stop all others with a made-up key.
 */
export const enterKey = async (db: Db, sealer: Sealer): Promise<void> => {
  await checkRing(db, sealer)
  await db.begin(async (begun) => {
    const tx = begun as unknown as Tx
    await lockSealingKeys(tx)
    const inUse = await listSealingKeys(tx)
    requireAll(inUse, sealer)
    if (!inUse.some(({ id }) => id === sealer.keyId)) await insertSealingKey(tx, checkOf(sealer))
  })
}

/** What each role asks before it starts, and again while it runs: may it work on this database? */
export const checkStart = async (db: Queryable, sealer: Sealer): Promise<void> => {
  await checkSchema(db)
  await checkKey(db, sealer)
}

/** The same for a role that starts while Postgres is away: its readiness says so, and its watch looks when it is back. */
export const checkStartUnlessAway = async (db: Queryable, sealer: Sealer, log: Logger): Promise<void> => {
  try {
    await checkStart(db, sealer)
  } catch (error) {
    // At a start nobody renews a certificate: the setting is wrong, or the server.
    if (!isDbAway(error) || refusedStatement(error)) throw error
    log.warn({ err: error }, 'the secret key could not be compared with the database yet')
  }
}

/** Which keys are in use, as far as the database was told; the newest first. */
export const readKeyIds = async (db: Queryable): Promise<readonly string[]> =>
  (await listSealingKeys(db)).map(({ id }) => id)

/** Which keys have sealed something that is there, as the owner's function sees it. */
export const readShownKeyIds = async (db: Queryable): Promise<ReadonlySet<string>> => {
  const { heads } = await readSealHeads(db)
  return new Set(heads.map(headKeyId).filter((id) => id !== undefined))
}

/** Whether the database was ever told of a key. No role can make it look as if it was not. */
export const wasTold = async (db: Queryable): Promise<boolean> =>
  (await listSealingKeys(db)).length > 0 || (await hasFormerList(db))

/** From now on this process's key alone is in use. */
export const leaveOtherKeys = async (db: Queryable, sealer: Sealer): Promise<void> => {
  await insertSealingKey(db, checkOf(sealer))
  await deleteSealingKeysBut(db, sealer.keyId)
  await deleteFormerList(db)
}

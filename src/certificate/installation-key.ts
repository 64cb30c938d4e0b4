import type { Tx } from '../../db/client.ts'
import {
  findSigningKey,
  insertSigningKey,
  lockSigningKeys,
  retireSigningKeys,
  type SigningKeyRow,
} from '../../db/queries/seals/signing-keys.ts'
import { DroverError } from '../errors.ts'
import type { Sealer } from '../seal/seal.ts'
import { signingKeyPlace } from '../seal/seal-places.ts'
import { makeSigningPair, type SigningPair, vouchFor } from './signing.ts'

/** The key that this installation signs with; the first who needs it makes it. */
export const installationKey = async (tx: Tx, sealer: Sealer): Promise<SigningPair> => {
  const known = await findSigningKey(tx)
  if (known) return opened(known, sealer)
  await lockSigningKeys(tx)
  const meanwhile = await findSigningKey(tx)
  return meanwhile ? opened(meanwhile, sealer) : await store(tx, sealer, makeSigningPair())
}

/**
 * Another key from now on. The one before vouches for it with its last signature; then its private half is gone, so that
 * it signs nothing again, whoever comes to hold the sealing key. What it signed goes on to verify.
 */
export const rotateSigningKey = async (
  tx: Tx,
  sealer: Sealer,
): Promise<{ readonly id: string; readonly follows: string | null }> => {
  await lockSigningKeys(tx)
  const before = await findSigningKey(tx)
  const pair = makeSigningPair()
  if (!before) return { id: (await store(tx, sealer, pair)).id, follows: null }
  const vouched = vouchFor(pair, opened(before, sealer))
  await retireSigningKeys(tx)
  await store(tx, sealer, pair, { follows: before.id, vouched })
  return { id: pair.id, follows: before.id }
}

/** Where the sealing key is lost, nobody can sign with what it sealed: another one, and nobody vouches for it. */
export const replaceLostKey = async (tx: Tx, sealer: Sealer): Promise<void> => {
  await lockSigningKeys(tx)
  const before = await findSigningKey(tx)
  if (!before || opens(before, sealer)) return
  await retireSigningKeys(tx)
  await store(tx, sealer, makeSigningPair())
}

const store = async (
  tx: Tx,
  sealer: Sealer,
  pair: SigningPair,
  past: { readonly follows: string | null; readonly vouched: Buffer | null } = {
    follows: null,
    vouched: null,
  },
): Promise<SigningPair> => {
  const privateKey = sealer.seal(pair.privateKey.toString('base64'), signingKeyPlace(pair.id))
  await insertSigningKey(tx, { ...pair, ...past, privateKey })
  return pair
}

const opened = ({ id, publicKey, privateKey }: SigningKeyRow, sealer: Sealer): SigningPair => {
  if (!privateKey) throw halved(id)
  return { id, publicKey, privateKey: Buffer.from(sealer.open(privateKey, signingKeyPlace(id)), 'base64') }
}

const opens = (row: SigningKeyRow, sealer: Sealer): boolean => {
  try {
    return opened(row, sealer).id === row.id
  } catch {
    return false
  }
}

const halved = (id: string): DroverError =>
  new DroverError({
    code: 'seal-broken',
    class: 'config',
    message: `The signing key ${id} is not retired, but its private half is gone: the database was changed without Drover.`,
    remedy: 'Look who changed the database, then restore the row from a backup.',
  })

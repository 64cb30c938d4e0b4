import type { Tx } from '../../db/client.ts'
import { findSigningKey, insertSigningKey, lockSigningKeys } from '../../db/queries/signing-keys.ts'
import type { Sealer } from '../seal.ts'
import { makeSigningPair, type SigningPair } from './signing.ts'

/** The key that this installation signs with; the first who needs it makes it. */
export const installationKey = async (tx: Tx, sealer: Sealer): Promise<SigningPair> => {
  const known = await findSigningKey(tx)
  if (known) return opened(known, sealer)
  await lockSigningKeys(tx)
  const meanwhile = await findSigningKey(tx)
  if (meanwhile) return opened(meanwhile, sealer)
  const pair = makeSigningPair()
  await insertSigningKey(tx, { ...pair, privateKey: sealer.seal(pair.privateKey.toString('base64')) })
  return pair
}

const opened = (
  row: { readonly id: string; readonly publicKey: Buffer; readonly privateKey: Buffer },
  sealer: Sealer,
): SigningPair => ({
  id: row.id,
  publicKey: row.publicKey,
  privateKey: Buffer.from(sealer.open(row.privateKey), 'base64'),
})

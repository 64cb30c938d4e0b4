import { createPublicKey } from 'node:crypto'
import type { Db } from '../../../db/client.ts'
import { listSigningKeys } from '../../../db/queries/seals/signing-keys.ts'
import { installationKey } from '../../certificate/installation-key.ts'
import { keyIdOf, publicPem } from '../../certificate/signing.ts'
import type { Sealer } from '../../seal/seal.ts'
import type { SealHead } from '../../seal/seal-head.ts'
import { isHeadSignedBy, parseHead, publicHalf } from '../../seal/seal-head.ts'
import { problem } from './problem.ts'

export interface NotedHead {
  readonly head: SealHead
  /** What could not be said about its signature, as a sentence. */
  readonly doubt: string | undefined
}

/** A head as somebody noted it: `<seq>:<hash>`, or the signed line, whose signature must hold. */
export const readNotedHead = async (
  deps: { readonly db: Db; readonly sealer: Sealer },
  text: string,
): Promise<NotedHead> => {
  const signed = parseHead(text)
  if (!signed) {
    const [seq = '', hash = ''] = text.split(':')
    return { head: { seq: Number(seq), hash }, doubt: undefined }
  }
  const head = { seq: signed.seq, hash: signed.hash }
  const own = await ownPublicKey(deps)
  if (own && keyIdOf(own.export({ type: 'spki', format: 'der' })) === signed.keyId) {
    if (!isHeadSignedBy(signed, own)) throw forged('its signature is not that of its key')
    return { head, doubt: undefined }
  }
  const listed = (await listSigningKeys(deps.db)).find(({ publicKey }) => keyIdOf(publicKey) === signed.keyId)
  if (!listed) throw forged(`${signed.keyId} is no key of this installation`)
  if (!isHeadSignedBy(signed, createPublicKey(publicPem(listed.publicKey))))
    throw forged('its signature is not that of its key')
  return {
    head,
    doubt:
      'The key of the head is not the one in use and is known from the database alone: check the line with the public key that you keep (--key).',
  }
}

/** Made from the private half, which only this installation's secret key opens: what is stored as public proves nothing. */
const ownPublicKey = async ({ db, sealer }: { readonly db: Db; readonly sealer: Sealer }) => {
  if ((await listSigningKeys(db)).length === 0) return undefined
  try {
    return publicHalf((await db.begin((tx) => installationKey(tx, sealer))).privateKey)
  } catch (error) {
    if ((error as { code?: string }).code === 'seal-broken') return undefined
    throw error
  }
}

const forged = (why: string) =>
  problem('validation-failed', `The head cannot be gone by: ${why}.`, {
    field: 'head',
    errors: [{ field: 'head', message: why }],
    remedy: 'Give a line as it was handed out (webhook, log or file), or <seq>:<hash>.',
  })

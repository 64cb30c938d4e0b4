import type { Sealer } from '../seal/seal.ts'
import { answerPlace } from '../seal/seal-places.ts'

type KeptRequest = Parameters<typeof answerPlace>[0]

/** JSON never begins with this. */
const sealedMark = 'sealed:'

/** The bytes of the seal in a kept answer; undefined: it is kept in clear, since it shows no secret. */
export const sealOfAnswer = (body: string): Buffer | undefined =>
  body.startsWith(sealedMark) ? Buffer.from(body.slice(sealedMark.length), 'base64') : undefined

/** A seal as the body of a kept answer. */
export const markSealed = (sealed: Buffer): string => sealedMark + sealed.toString('base64')

/** An answer that shows a secret, as it is kept. */
export const sealAnswer = (sealer: Sealer, request: KeptRequest, body: string): string =>
  markSealed(sealer.seal(body, answerPlace(request)))

/** A kept answer as it was given. */
export const openAnswer = (sealer: Sealer, request: KeptRequest, kept: string): string => {
  const sealed = sealOfAnswer(kept)
  return sealed === undefined ? kept : sealer.open(sealed, answerPlace(request))
}

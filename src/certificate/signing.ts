import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto'
import { canonicalJson } from '../domain/inventory/facts-hash.ts'
import type { CertificateDocument } from './document.ts'

/** A key pair of an installation, as it is stored: DER, the public half as SPKI, the private one as PKCS #8. */
export interface SigningPair {
  readonly id: string
  readonly publicKey: Buffer
  readonly privateKey: Buffer
}

export const makeSigningPair = (): SigningPair => {
  const pair = generateKeyPairSync('ed25519')
  const publicKey = pair.publicKey.export({ type: 'spki', format: 'der' })
  return {
    id: keyIdOf(publicKey),
    publicKey,
    privateKey: pair.privateKey.export({ type: 'pkcs8', format: 'der' }),
  }
}

/** Follows from the key, so that no file can claim another one's. */
export const keyIdOf = (publicKey: Buffer): string =>
  `ed25519-${createHash('sha256').update(publicKey).digest('hex').slice(0, 32)}`

export const publicPem = (publicKey: Buffer): string =>
  createPublicKey({ key: publicKey, format: 'der', type: 'spki' })
    .export({ type: 'spki', format: 'pem' })
    .toString()

/** The bytes that are signed: the document with its keys in order and no space. */
const signedBytes = (document: CertificateDocument): Buffer =>
  Buffer.from(`drover-certificate/1\n${canonicalJson(document)}`)

export const signCertificate = (
  document: CertificateDocument,
  { privateKey }: Pick<SigningPair, 'privateKey'>,
): Buffer =>
  sign(null, signedBytes(document), createPrivateKey({ key: privateKey, format: 'der', type: 'pkcs8' }))

/** What a key signs when another one takes its place. */
const successionBytes = (from: string, next: Pick<SigningPair, 'id' | 'publicKey'>): Buffer =>
  Buffer.from(`drover-signing-key/1\n${from}\n${next.id}\n${next.publicKey.toString('hex')}`)

/** The last signature of a key: that `next` follows it. */
export const vouchFor = (next: Pick<SigningPair, 'id' | 'publicKey'>, before: SigningPair): Buffer =>
  sign(
    null,
    successionBytes(before.id, next),
    createPrivateKey({ key: before.privateKey, format: 'der', type: 'pkcs8' }),
  )

/** Whether the key before vouched for this one: who trusts it may then trust this one. */
export const isVouchedBy = (
  next: Pick<SigningPair, 'id' | 'publicKey'>,
  before: Pick<SigningPair, 'id' | 'publicKey'>,
  vouched: Buffer,
): boolean =>
  verify(
    null,
    successionBytes(before.id, next),
    createPublicKey({ key: before.publicKey, format: 'der', type: 'spki' }),
    vouched,
  )

export const isSignedBy = (document: CertificateDocument, signature: Buffer, publicKey: Buffer): boolean =>
  verify(
    null,
    signedBytes(document),
    createPublicKey({ key: publicKey, format: 'der', type: 'spki' }),
    signature,
  )

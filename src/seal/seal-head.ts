import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'

/** A seal as somebody noted it outside the database, to prove later that the tail was not cut off. */
export interface SealHead {
  readonly seq: number
  /** Hexadecimal. */
  readonly hash: string
}

/**
 * A head of the chain as it is handed out: one line without a space, to be kept where nobody who can write the
 * database can change it. The signature is over the text before the last colon, so that anybody who has the public
 * key can check it without asking anybody.
 */
export interface SignedHead extends SealHead {
  readonly atMs: number
  readonly keyId: string
  /** The whole line. */
  readonly line: string
}

export interface HeadKey {
  readonly id: string
  /** DER, PKCS #8. */
  readonly privateKey: Buffer
}

const shape =
  /^drover-head-1:(\d{1,15}):([0-9a-f]{64}):(\d{1,15}):(ed25519-[0-9a-f]{32}):([A-Za-z0-9_-]{86})$/

export const signHead = (head: SealHead & { readonly atMs: number }, key: HeadKey): SignedHead => {
  const text = ['drover-head-1', head.seq, head.hash, head.atMs, key.id].join(':')
  const privateKey = createPrivateKey({ key: key.privateKey, format: 'der', type: 'pkcs8' })
  const line = `${text}:${sign(null, Buffer.from(text), privateKey).toString('base64url')}`
  return { ...head, keyId: key.id, line }
}

/** Reads a line; undefined when it is none. It says nothing about the signature. */
export const parseHead = (line: string): SignedHead | undefined => {
  const found = shape.exec(line)
  if (!found) return undefined
  const [, seq = '', hash = '', atMs = '', keyId = ''] = found
  return { seq: Number(seq), hash, atMs: Number(atMs), keyId, line }
}

export const isHeadSignedBy = (head: SignedHead, publicKey: KeyObject): boolean => {
  const colon = head.line.lastIndexOf(':')
  const signature = Buffer.from(head.line.slice(colon + 1), 'base64url')
  return verify(null, Buffer.from(head.line.slice(0, colon)), publicKey, signature)
}

export const publicHalf = (privateKey: Buffer): KeyObject =>
  createPublicKey(createPrivateKey({ key: privateKey, format: 'der', type: 'pkcs8' }))

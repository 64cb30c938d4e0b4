import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { DroverError } from './errors.ts'

/** Keeps secrets in the database without the database being able to read them. */
export interface Sealer {
  /** Encrypts and authenticates. Two seals of one text differ. */
  seal(text: string): Buffer
  /** Gives the text back; throws `seal-broken` when the bytes or the key are not the ones it was sealed with. */
  open(sealed: Buffer): string
  /** HMAC-SHA256 under a key that no seal uses. */
  mac(data: Buffer): Buffer
}

/** First byte of every seal, so that another format can come one day and old seals stay readable. */
const formatVersion = 1
const nonceBytes = 12
const tagBytes = 16
const headBytes = 1 + nonceBytes + tagBytes

/** Makes a sealer from 32 bytes in hexadecimal digits: AES-256-GCM, keys derived apart by purpose. */
export const createSealer = (hexKey: string): Sealer => {
  if (!/^[0-9a-f]{64}$/.test(hexKey)) throw badKey()
  const master = Buffer.from(hexKey, 'hex')
  const sealKey = derive(master, 'drover/seal/v1')
  const macKey = derive(master, 'drover/mac/v1')
  return {
    seal: (text) => {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv('aes-256-gcm', sealKey, nonce)
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([Buffer.of(formatVersion), nonce, cipher.getAuthTag(), body])
    },
    open: (sealed) => open(sealKey, sealed),
    mac: (data) => createHmac('sha256', macKey).update(data).digest(),
  }
}

const derive = (master: Buffer, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', master, Buffer.alloc(0), purpose, 32))

const open = (key: Buffer, sealed: Buffer): string => {
  if (sealed.length < headBytes || sealed[0] !== formatVersion) throw broken('it has no known format')
  const nonce = sealed.subarray(1, 1 + nonceBytes)
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes })
  decipher.setAuthTag(sealed.subarray(1 + nonceBytes, headBytes))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(headBytes)), decipher.final()]).toString('utf8')
  } catch {
    throw broken('it was sealed with another key, or changed since')
  }
}

const broken = (why: string): DroverError =>
  new DroverError({
    code: 'seal-broken',
    class: 'config',
    message: `A sealed secret cannot be opened: ${why}.`,
    remedy:
      'Give every process the DROVER_SECRET_KEY that the secret was stored with, or store the secret again.',
    field: 'DROVER_SECRET_KEY',
  })

const badKey = (): DroverError =>
  new DroverError({
    code: 'config-invalid',
    class: 'config',
    message: 'The secret key must be 64 hexadecimal digits (32 bytes).',
    remedy: 'Make one with: openssl rand -hex 32, and set DROVER_SECRET_KEY to it in every process.',
    field: 'DROVER_SECRET_KEY',
  })

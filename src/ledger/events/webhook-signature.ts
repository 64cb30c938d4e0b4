import { createHmac, randomBytes } from 'node:crypto'
import { sameBytes } from '../../seal/seal.ts'

/**
 * Signatures of the Standard Webhooks scheme, so that receivers can check them with an existing library: HMAC-SHA256
 * over `id.timestamp.body`, with the bytes of `whsec_<base64>` as key.
 */
const secretPrefix = 'whsec_'
const secretBytes = { made: 32, min: 24, max: 64 }

export const newWebhookSecret = (): string => secretPrefix + randomBytes(secretBytes.made).toString('base64')

/** The bytes of the key; undefined when the text is no secret of this scheme. */
export const webhookKey = (secret: string): Buffer | undefined => {
  if (!/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(secret)) return undefined
  const key = Buffer.from(secret.slice(secretPrefix.length), 'base64')
  return key.length >= secretBytes.min && key.length <= secretBytes.max ? key : undefined
}

export interface SignedMessage {
  readonly id: string
  /** Seconds since 1970. */
  readonly timestamp: number
  readonly body: string
}

/** The headers of a message. */
export const signWebhook = (key: Buffer, message: SignedMessage): Record<string, string> => ({
  'webhook-id': message.id,
  'webhook-timestamp': String(message.timestamp),
  'webhook-signature': `v1,${signature(key, message).toString('base64')}`,
})

export interface ReceivedMessage {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: string
  /** Milliseconds since 1970. */
  readonly nowMs: number
  /** How far the sender's clock may be off, and how old a message may be. */
  readonly toleranceMs?: number
}

/** The check of a receiver: whether the message was signed with this key, recently. */
export const isSigned = (key: Buffer, received: ReceivedMessage): boolean => {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map(
    (name) => received.headers[name],
  )
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') return false
  if (!/^\d{1,12}$/.test(timestamp)) return false
  if (Math.abs(received.nowMs - Number(timestamp) * 1_000) > (received.toleranceMs ?? 300_000)) return false
  const expected = signature(key, { id, timestamp: Number(timestamp), body: received.body })
  return signatures.split(' ').some((candidate) => {
    const [version, text = ''] = candidate.split(',')
    const bytes = Buffer.from(text, 'base64')
    return version === 'v1' && sameBytes(bytes, expected)
  })
}

const signature = (key: Buffer, message: SignedMessage): Buffer =>
  createHmac('sha256', key).update(`${message.id}.${message.timestamp}.${message.body}`).digest()

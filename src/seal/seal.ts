import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import { DroverError } from '../errors.ts'

/**
 * Where a sealed text belongs: its purpose, its row, and whatever decides what is done with it. A seal opens at this
 * place alone, so that nobody who writes to the database can move it. `src/seal/seal-places.ts` has all of them.
 */
export type SealPlace = readonly [purpose: string, ...parts: string[]]

/** Keeps secrets in the database without the database being able to read them, or to say what they are for. */
export interface Sealer {
  /** Names the key that seals now. */
  readonly keyId: string
  /** Names every key of the ring, the current one first. */
  readonly keyIds: readonly string[]
  /** Encrypts and authenticates, for one place. Two seals of one text differ. */
  seal(text: string, place: SealPlace): Buffer
  /** Gives the text back; throws `seal-broken` when bytes, key or place are not the ones it was sealed with. */
  open(sealed: Buffer, place: SealPlace): string
  /** HMAC-SHA256 under a key that no seal uses. */
  mac(data: Buffer): Buffer
  /** Whether any key of the ring made this MAC of the data. */
  isMac(data: Buffer, mac: Buffer): boolean
}

/** First byte of every seal. Format 1 knew neither a place nor a key: see `src/sealing/former-seal.ts`. */
const formatVersion = 2
const keyIdBytes = 8
const nonceBytes = 12
const tagBytes = 16
const headBytes = 1 + keyIdBytes + nonceBytes + tagBytes

interface RingKey {
  readonly id: Buffer
  readonly sealKey: Buffer
  readonly macKey: Buffer
}

/** Makes a sealer from 32 bytes in hexadecimal digits: AES-256-GCM, keys derived apart by purpose. Old keys only open. */
export const createSealer = (hexKey: string, oldHexKeys: readonly string[] = []): Sealer => {
  const current = ringKey(hexKey, 'DROVER_SECRET_KEY')
  const ring = [current, ...oldHexKeys.map((key) => ringKey(key, 'DROVER_SECRET_KEYS_OLD'))]
  const isMadeBy = (key: RingKey, data: Buffer, mac: Buffer) => sameBytes(hmac(key.macKey, data), mac)
  return {
    keyId: current.id.toString('hex'),
    keyIds: ring.map(({ id }) => id.toString('hex')),
    seal: (text, place) => seal(current, text, place),
    open: (sealed, place) => open(ring, sealed, place),
    mac: (data) => hmac(current.macKey, data),
    isMac: (data, mac) => ring.filter((key) => isMadeBy(key, data, mac)).length > 0,
  }
}

/** The id of the key that made a seal; undefined for what is no seal of this format. */
export const sealKeyId = (sealed: Buffer): string | undefined =>
  sealed.length >= headBytes && sealed[0] === formatVersion
    ? sealed.subarray(1, 1 + keyIdBytes).toString('hex')
    : undefined

/** A key's id: follows from the key, and nothing of the key follows from it. */
export const secretKeyId = (hexKey: string): string => ringKey(hexKey, 'DROVER_SECRET_KEY').id.toString('hex')

/** The part of a key that makes MACs, for whoever keeps it to prove what was made with a key that is gone. */
export const macKeyOf = (hexKey: string): Buffer => ringKey(hexKey, 'DROVER_SECRET_KEYS_OLD').macKey

/** HMAC-SHA256. */
export const hmac = (key: Buffer, data: Buffer): Buffer => createHmac('sha256', key).update(data).digest()

/** Compares without telling how far two hashes or MACs agree. */
export const sameBytes = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b)

const ringKey = (hexKey: string, field: string): RingKey => {
  if (!/^[0-9a-f]{64}$/.test(hexKey)) throw badKey(field)
  const master = Buffer.from(hexKey, 'hex')
  return {
    id: derive(master, 'drover/key-id/v1', keyIdBytes),
    sealKey: derive(master, 'drover/seal/v2', 32),
    macKey: derive(master, 'drover/mac/v1', 32),
  }
}

/** A key of its own for each purpose, from which the master cannot be found. */
export const derive = (master: Buffer, purpose: string, bytes: number): Buffer =>
  Buffer.from(hkdfSync('sha256', master, Buffer.alloc(0), purpose, bytes))

/** Each part with its length before it: no two places are the same bytes, whatever their parts hold. */
const associated = (keyId: Buffer, place: SealPlace): Buffer =>
  Buffer.concat([
    Buffer.of(formatVersion),
    keyId,
    ...place.flatMap((part) => {
      const bytes = Buffer.from(part, 'utf8')
      const length = Buffer.alloc(4)
      length.writeUInt32BE(bytes.length)
      return [length, bytes]
    }),
  ])

const seal = (key: RingKey, text: string, place: SealPlace): Buffer => {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', key.sealKey, nonce)
  cipher.setAAD(associated(key.id, place))
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([Buffer.of(formatVersion), key.id, nonce, cipher.getAuthTag(), body])
}

const open = (ring: readonly RingKey[], sealed: Buffer, place: SealPlace): string => {
  const keyId = sealKeyId(sealed)
  if (keyId === undefined) throw sealBroken('it has no format that is known now')
  const key = ring.find(({ id }) => id.toString('hex') === keyId)
  if (!key) throw sealBroken(`it was sealed with the key ${keyId}, which this process was not given`)
  const nonce = sealed.subarray(1 + keyIdBytes, 1 + keyIdBytes + nonceBytes)
  const decipher = createDecipheriv('aes-256-gcm', key.sealKey, nonce, { authTagLength: tagBytes })
  decipher.setAAD(associated(key.id, place))
  decipher.setAuthTag(sealed.subarray(headBytes - tagBytes, headBytes))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(headBytes)), decipher.final()]).toString('utf8')
  } catch {
    throw sealBroken('it, or what it belongs to, was changed outside Drover')
  }
}

/** A seal that does not open, and why. */
export const sealBroken = (why: string): DroverError =>
  new DroverError({
    code: 'seal-broken',
    class: 'config',
    message: `A sealed secret cannot be opened: ${why}.`,
    remedy:
      'Look who changed the database. Then give the password or secret again, or every process the key that it was stored with.',
    field: 'DROVER_SECRET_KEY',
    detail: { why },
  })

const badKey = (field: string): DroverError =>
  new DroverError({
    code: 'config-invalid',
    class: 'config',
    message: 'The secret key must be 64 hexadecimal digits (32 bytes).',
    remedy: `Make one with: openssl rand -hex 32, and set ${field} to it in every process.`,
    field,
  })

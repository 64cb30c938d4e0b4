import { createCipheriv, hkdfSync, randomBytes } from 'node:crypto'

/** As the version before sealed: no key id, no place. */
export const formerSeal = (hexKey: string, text: string): Buffer => {
  const sealKey = Buffer.from(
    hkdfSync('sha256', Buffer.from(hexKey, 'hex'), Buffer.alloc(0), 'drover/seal/v1', 32),
  )
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', sealKey, nonce)
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([Buffer.of(1), nonce, cipher.getAuthTag(), body])
}

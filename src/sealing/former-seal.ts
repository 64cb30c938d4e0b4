import { createDecipheriv } from 'node:crypto'
import { derive, sealBroken } from '../seal/seal.ts'

const formatVersion = 1
const nonceBytes = 12
const tagBytes = 16
const headBytes = 1 + nonceBytes + tagBytes

/** Whether these bytes are a seal of the version before. */
export const isFormerSeal = (sealed: Buffer): boolean =>
  sealed.length >= headBytes && sealed[0] === formatVersion

/**
 * Opens a seal of the version before, which names no place and so fits everywhere. For the upgrade alone: opened by a
 * role, an old seal out of a backup would go round everything that places are for.
 */
export const openFormerSeal = (hexKeys: readonly string[], sealed: Buffer): string => {
  if (!isFormerSeal(sealed)) throw sealBroken('it is not of the format before')
  for (const hexKey of hexKeys) {
    const key = derive(Buffer.from(hexKey, 'hex'), 'drover/seal/v1', 32)
    const nonce = sealed.subarray(1, 1 + nonceBytes)
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes })
    decipher.setAuthTag(sealed.subarray(1 + nonceBytes, headBytes))
    try {
      return Buffer.concat([decipher.update(sealed.subarray(headBytes)), decipher.final()]).toString('utf8')
    } catch {
      // Another key of the ring may fit.
    }
  }
  throw sealBroken('no key that was given opens it')
}

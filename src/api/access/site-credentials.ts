import { X509Certificate } from 'node:crypto'
import { refuseUrl } from './webhook-url.ts'

/** Why nothing can be connected to at this address, or undefined when it is fine. */
export const refuseEndpoint = (text: string): string | undefined => {
  const refusal = refuseUrl(text)
  if (refusal !== undefined) return refusal
  const url = new URL(text)
  if (url.search !== '' || text.includes('?')) return 'must not hold a query'
  if (text.includes('#')) return 'must not hold a fragment'
  if (url.hostname === '' || url.hostname.length > 253) return 'must name a host of at most 253 characters'
  return undefined
}

/** The address in one spelling, so that a change of case is no change of address. */
export const tidyEndpoint = (text: string): string => new URL(text).href

const hexDigest = /^[0-9a-f]{64}$/

/** A SHA-256 fingerprint as people copy it (colons, capitals) in one spelling; undefined: it is none. */
export const tidyFingerprint = (text: string): string | undefined => {
  const plain = text.trim().replaceAll(':', '').toLowerCase()
  return plain === '' || hexDigest.test(plain) ? plain : undefined
}

const pemBlock = /-----BEGIN ([A-Z0-9 ]+)-----[A-Za-z0-9+/=\s]+-----END \1-----/g

/** Why this is no list of certificates in PEM. It is shown to viewers, so a private key must not get in. */
export const refuseCa = (text: string): string | undefined => {
  if (text.trim() === '') return undefined
  const blocks = [...text.matchAll(pemBlock)]
  if (blocks.some(([, type]) => type?.includes('PRIVATE KEY'))) return 'must not hold a private key'
  if (blocks.length === 0 || text.replace(pemBlock, '').trim() !== '')
    return 'must be certificates in PEM, and nothing else'
  for (const [pem] of blocks) {
    try {
      new X509Certificate(pem)
    } catch {
      return 'holds a block that is no certificate'
    }
  }
  return undefined
}

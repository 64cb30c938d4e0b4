import { verify, X509Certificate } from 'node:crypto'
import { readLine } from './manifest.ts'

/** The signer of a manifest. A correct signature does not say that the signer can be trusted. */
export interface Signer {
  readonly subject: string
  readonly issuer: string
  /** SHA-256 of the certificate. */
  readonly fingerprint: string
}

/**
 * Checks `<digest>(<manifest>)= <signature>` and the certificate below it. Throws a `RangeError` that names the
 * problem.
 */
export const checkSignature = (
  text: string,
  manifest: { readonly name: string; readonly bytes: Buffer },
): Signer => {
  const pem = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/.exec(text)?.[0]
  if (pem === undefined) throw new RangeError('it holds no certificate')
  const first = text.split(/\r?\n/).find((one) => one.trim() !== '') ?? ''
  const { name, hash, hex } = readLine(first, 1)
  if (name !== manifest.name) throw new RangeError(`it signs ${name}, not the manifest`)
  const certificate = readCertificate(pem)
  if (!isRight(hash.algorithm, manifest.bytes, { certificate, signature: Buffer.from(hex, 'hex') }))
    throw new RangeError('the signature is not that of its certificate over this manifest')
  return {
    subject: certificate.subject.split('\n').join(', '),
    issuer: certificate.issuer.split('\n').join(', '),
    fingerprint: certificate.fingerprint256.replaceAll(':', '').toLowerCase(),
  }
}

const readCertificate = (pem: string): X509Certificate => {
  try {
    return new X509Certificate(pem)
  } catch {
    throw new RangeError('its certificate cannot be read')
  }
}

const isRight = (
  algorithm: string,
  bytes: Buffer,
  by: { readonly certificate: X509Certificate; readonly signature: Buffer },
): boolean => {
  try {
    return verify(algorithm, bytes, by.certificate.publicKey, by.signature)
  } catch {
    return false
  }
}

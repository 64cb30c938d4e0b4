import { createHash, X509Certificate } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import { PlatformError } from '../ports/platform-error.ts'

/** A server's certificate, as a person has to see it to confirm it. */
export interface SeenCertificate {
  /** SHA-256 of the certificate, lower-case hex. */
  readonly fingerprint: string
  readonly subject: string
  readonly issuer: string
  readonly valid_from: string
  readonly valid_to: string
  readonly names: string
  /** Whether the system's or the given CA vouches for it, and it names this host. */
  readonly trusted: boolean
  /** Why it is not trusted; empty when it is. */
  readonly reason: string
}

/** What is known of the server before it is spoken to. */
export interface Trust {
  readonly ca: string
  /** SHA-256 (64 hex digits), or SHA-1 (40), by which vSphere names the hosts of its disk leases. */
  readonly fingerprint: string
}

export const seenCertificate = (socket: TLSSocket): SeenCertificate | undefined => {
  const certificate = peerCertificate(socket)
  if (!certificate) return undefined
  const problem: unknown = socket.authorizationError
  return {
    fingerprint: digest(certificate, 'sha256'),
    subject: oneLine(certificate.subject),
    issuer: oneLine(certificate.issuer),
    valid_from: isoDate(certificate.validFrom),
    valid_to: isoDate(certificate.validTo),
    names: certificate.subjectAltName ?? '',
    trusted: socket.authorized,
    reason: socket.authorized
      ? ''
      : problem instanceof Error
        ? problem.message
        : String(problem ?? 'unknown'),
  }
}

/** Why this server must not be spoken to; nothing when it may. A pin decides alone, whoever signed. */
export const distrust = (socket: TLSSocket, trust: Trust, host: string): PlatformError | undefined => {
  const seen = seenCertificate(socket)
  const certificate = peerCertificate(socket)
  if (!seen || !certificate) return noCertificate(host)
  if (trust.fingerprint === '') return seen.trusted ? undefined : unconfirmed(host, seen)
  const pinned = normalFingerprint(trust.fingerprint)
  const actual = digest(certificate, pinned.length === 40 ? 'sha1' : 'sha256')
  return actual === pinned ? undefined : changed(host, seen, pinned)
}

/** Not by `getPeerX509Certificate`: on Node 20 that takes the certificate away, and the next look finds none. */
const peerCertificate = (socket: TLSSocket): X509Certificate | undefined => {
  // The types promise bytes also where the server showed nothing.
  const { raw } = socket.getPeerCertificate() as { raw?: Buffer }
  return raw ? new X509Certificate(raw) : undefined
}

/** `AA:BB…` and `aabb…` are the same. */
export const normalFingerprint = (text: string): string => text.replaceAll(/[:\s]/g, '').toLowerCase()

/** Refuses what is no certificate: Node would drop it without a word and trust nobody. */
export const checkedCa = (pem: string): string | undefined => {
  if (pem.trim() === '') return undefined
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  try {
    if (blocks.length === 0) throw new Error('There is no PEM block of a certificate in it.')
    for (const block of blocks) new X509Certificate(block)
    return pem
  } catch (cause) {
    throw new PlatformError(
      {
        code: 'platform-tls',
        failure: 'refused',
        message: `The CA is not usable: ${(cause as Error).message}`,
        remedy: 'Give the certificates in PEM form, each from BEGIN CERTIFICATE to END CERTIFICATE.',
        field: 'ca',
      },
      { cause },
    )
  }
}

const digest = (certificate: X509Certificate, algorithm: 'sha1' | 'sha256'): string =>
  createHash(algorithm).update(certificate.raw).digest('hex')

const oneLine = (name: string): string => name.split('\n').join(', ')

const isoDate = (text: string): string => {
  const date = new Date(text)
  return Number.isNaN(date.getTime()) ? text : date.toISOString()
}

const noCertificate = (host: string): PlatformError =>
  new PlatformError({
    code: 'platform-tls',
    failure: 'refused',
    message: `${host} shows no certificate.`,
    remedy: 'Check that the address leads to the platform.',
    detail: { host },
  })

const unconfirmed = (host: string, seen: SeenCertificate): PlatformError =>
  new PlatformError({
    code: 'platform-fingerprint',
    failure: 'refused',
    message: `The certificate of ${host} is not trusted (${seen.reason}), and nobody has confirmed it yet.`,
    remedy:
      'Compare the fingerprint with what the platform shows and confirm it, or give the CA that signed it.',
    field: 'fingerprint',
    detail: { host, ...seen },
  })

const changed = (host: string, seen: SeenCertificate, pinned: string): PlatformError =>
  new PlatformError({
    code: 'platform-fingerprint',
    failure: 'refused',
    message: `${host} shows another certificate than the confirmed one.`,
    remedy: 'Find out why it changed. When it was renewed, compare the new fingerprint and confirm it.',
    field: 'fingerprint',
    detail: { host, ...seen, pinned },
  })

import { DroverError, type RecordedError } from '../../errors.ts'
import type { PlatformIdentity } from '../../platforms/ports/ports.ts'
import { storableLine } from '../../storable.ts'

const certificateFields = ['fingerprint', 'subject', 'issuer', 'valid_from', 'valid_to', 'names', 'reason']

/** What a person needs to confirm a certificate; null when the error has no certificate. */
export const seenCertificateOf = (error: DroverError): Record<string, string> | null => {
  if (error.code !== 'platform-fingerprint' || !error.detail) return null
  const { detail } = error
  return Object.fromEntries(
    certificateFields.flatMap((field) => {
      const value = detail[field]
      return typeof value === 'string' ? [[field, value]] : []
    }),
  )
}

interface KnownSite {
  readonly name: string
  readonly role: string
  readonly endpoint: string
  readonly identity: Readonly<Record<string, string>> | null
  readonly connectivity: string
  readonly connectivityError: RecordedError | null
}

/** A person has just entered or confirmed the connection: whichever platform answers now is accepted. */
const isConfirmed = (site: KnownSite): boolean =>
  site.connectivity === 'unknown' && site.connectivityError === null

/** The identity of the platform as it is stored and shown, cleaned and cut. */
export const keptIdentity = ({ product, version, instance_id }: PlatformIdentity): PlatformIdentity => ({
  product: storableLine(product, longestIdentity),
  version: storableLine(version, longestIdentity),
  instance_id: storableLine(instance_id, longestIdentity),
})

const longestIdentity = 200

/**
 * Throws when the address leads to another installation than that of the known inventory: its machines have the same
 * ids but are others.
 */
export const requireSameInstallation = (site: KnownSite, answered: PlatformIdentity): void => {
  const known = site.identity?.instance_id ?? ''
  if (known === '' || answered.instance_id === '' || known === answered.instance_id || isConfirmed(site))
    return
  throw new DroverError({
    code: 'platform-identity-changed',
    class: 'config',
    message: `${site.endpoint} is answered by another installation than the one that ${site.role} ${site.name} was read from.`,
    remedy:
      'Correct the address. When the platform was really installed anew, save the connection once more (its address, user or password) to say so.',
    field: 'endpoint',
    detail: {
      expected_instance_id: known,
      seen_instance_id: answered.instance_id,
      product: answered.product,
    },
  })
}

/** Refuses work with a site whose address is known to lead elsewhere. */
export const requireTrusted = (site: KnownSite): void => {
  const error = site.connectivityError
  if (error?.code === 'platform-identity-changed') throw new DroverError(error)
}

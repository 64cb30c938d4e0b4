import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { DroverError, TrustSetting } from '../errors.ts'
import { whyUnreadable } from '../unreadable.ts'
import { configError } from './config-files.ts'
import { hasSeveralHosts, withFirstHost } from './several-hosts.ts'

/** The certificates in the file that a setting names, as PEM. A file without any is refused at the start. */
export const readAuthorities = (setting: TrustSetting, path: string): string => {
  const found = readGiven(setting, path).match(
    /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g,
  )
  if (!found) throw unusable(setting, path, 'which holds no certificate (PEM)')
  for (const pem of found) {
    try {
      new X509Certificate(pem)
    } catch {
      throw unusable(setting, path, 'which holds a certificate that is damaged')
    }
  }
  return found.join('\n')
}

const readGiven = (setting: TrustSetting, path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw unusable(setting, path, `which cannot be read: ${whyUnreadable(cause)}`)
  }
}

const unusable = (setting: TrustSetting, path: string, why: string): DroverError =>
  configError(
    setting,
    `${setting} names ${path}, ${why}.`,
    `Let ${setting} name a file that this user can read and that holds the certificates of authorities (PEM); or unset it for the authorities that Node knows.`,
  )

/** Modes of which a person who names an authority may have thought that they check it. */
const checkedModes: readonly string[] = ['require', 'verify-ca', 'verify-full']

/** By each of these `pg` would take the URL's word instead of our authorities; postgres.js knows none of them so. */
const otherWords = ['ssl', 'sslcert', 'sslkey', 'uselibpqcompat']

export interface StoreTrust {
  /** The setting that holds the URL. */
  readonly setting: string
  /** The file of authorities that may have signed the certificate. */
  readonly authorities: string | undefined
}

/**
 * The same URL for TLS, checked by the authorities in a file and by the name of the server. The words are those of
 * Postgres itself, so that who gets the URL needs nothing beside it. Without a file the text stays as it is.
 */
export const withAuthorities = (databaseUrl: string, trust: StoreTrust): string => {
  const { setting, authorities } = trust
  const url = new URL(withFirstHost(databaseUrl))
  const modes = url.searchParams.getAll('sslmode')
  const checked = authorities !== undefined || modes.includes('verify-full')
  if (checked && hasSeveralHosts(databaseUrl)) throw severalHosts(trust)
  if (authorities === undefined) return databaseUrl
  const contrary = modes.every((mode) => checkedModes.includes(mode))
    ? otherWords.find((word) => url.searchParams.has(word))
    : 'sslmode'
  if (contrary !== undefined)
    throw configError(
      setting,
      `${setting} has the parameter ${contrary}, and DATABASE_CA_FILE is set: with it every certificate is checked, as by sslmode=verify-full.`,
      `Take ${contrary} out of ${setting}, or unset DATABASE_CA_FILE.`,
    )
  url.searchParams.set('sslmode', 'verify-full')
  url.searchParams.set('sslrootcert', resolve(authorities))
  return url.href
}

const severalHosts = ({ setting, authorities }: StoreTrust): DroverError => {
  const asked = authorities === undefined ? 'sslmode=verify-full' : 'DATABASE_CA_FILE'
  return configError(
    setting,
    `${setting} names several hosts, and the certificate of one alone can be checked, as ${asked} demands.`,
    `Name one host in ${setting}: an address that follows the primary, where there are replicas.`,
  )
}

import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { hasSeveralHosts } from '../src/config/several-hosts.ts'

/** What both drivers give to Node's TLS. */
export interface DatabaseTls {
  readonly host: string
  readonly servername?: string
  readonly ca?: string
}

export interface SecuredUrl {
  readonly url: string
  /** Options for the driver beside the URL. */
  readonly options: { readonly ssl?: DatabaseTls; readonly sslnegotiation?: 'direct' }
}

/**
 * All by which a URL speaks of TLS. Any that stays makes `pg` forget the options beside the URL: `ssl=0` would then be
 * plain text, and `sslcert` a check by the authorities that Node knows.
 */
const tlsWords = ['sslmode', 'sslrootcert', 'ssl', 'sslcert', 'sslkey', 'uselibpqcompat', 'sslnegotiation']

/**
 * A URL that asks for a checked certificate (`sslmode=verify-full`), in the words that each driver understands in the
 * same way. Left to themselves, postgres.js knows no `sslrootcert`, and on a socket of ours it neither names the server
 * nor checks a numeric address: it would look for "localhost" in the certificate. The configuration refuses several
 * hosts together with such a check.
 */
export const securedUrl = (text: string): SecuredUrl => {
  if (hasSeveralHosts(text)) return { url: text, options: {} }
  const url = new URL(text)
  if (url.searchParams.get('sslmode') !== 'verify-full') return { url: text, options: {} }
  const path = url.searchParams.get('sslrootcert')
  const direct = url.searchParams.get('sslnegotiation') === 'direct'
  for (const name of tlsWords) url.searchParams.delete(name)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const ca = path === null || path === 'system' ? {} : { ca: readFileSync(path, 'utf8') }
  return {
    url: url.href,
    options: {
      ssl: { host, ...(isIP(host) ? {} : { servername: host }), ...ca },
      ...(direct ? { sslnegotiation: 'direct' } : {}),
    },
  }
}

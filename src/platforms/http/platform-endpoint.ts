import { isIP } from 'node:net'
import { PlatformError } from '../ports/platform-error.ts'

/** Where a platform is, taken apart. */
export interface PlatformEndpoint {
  readonly secure: boolean
  /** Without brackets, as sockets want it. */
  readonly host: string
  readonly port: number
  /** With brackets and with the port when it is not the usual one, as the Host header wants it. */
  readonly authority: string
  /** Of the URL, without a slash at its end; empty for the root. */
  readonly path: string
}

/** Refuses what would send a password in the clear over a network, or hides one in the address. */
export const parseEndpoint = (text: string): PlatformEndpoint => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw refusedEndpoint('The address is no https:// URL.')
  if (url.username !== '' || url.password !== '')
    throw refusedEndpoint('The address holds a user name or a password.')
  const secure = url.protocol === 'https:'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (!secure && !isLoopbackName(host)) throw plainOverNetwork()
  return {
    secure,
    host,
    port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
    authority: url.host,
    path: url.pathname.replace(/\/+$/, ''),
  }
}

export const isLoopbackAddress = (address: string): boolean =>
  address === '::1' || /^(::ffff:)?127\./.test(address)

export const plainOverNetwork = (): PlatformError =>
  refusedEndpoint('Plain http is for this machine alone (127.0.0.1, ::1, localhost).')

export const isLoopbackName = (host: string): boolean =>
  isIP(host) === 0 ? host === 'localhost' : isLoopbackAddress(host)

const refusedEndpoint = (message: string): PlatformError =>
  new PlatformError({
    code: 'platform-tls',
    failure: 'refused',
    message,
    remedy: 'Give an address like https://vcenter.example.org and the user name and password apart from it.',
    field: 'endpoint',
  })

import { createMiddleware } from 'hono/factory'
import type { Front } from '../../config/front.ts'
import { problem } from '../wire/problem.ts'
import type { ApiEnv } from './env.ts'

/** `127.0.0.0/8`, `::1`, and the first written as IPv6. */
export const isLoopbackAddress = (address: string): boolean => {
  const plain = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address
  return plain === '::1' || /^127(\.\d{1,3}){3}$/.test(plain)
}

/** Names that resolve to loopback on any sane machine, and loopback addresses. Takes no port. */
export const isLoopbackHost = (host: string): boolean => {
  const plain = host.toLowerCase().replace(/\.$/, '')
  if (plain === 'localhost' || plain.endsWith('.localhost')) return true
  return isLoopbackAddress(plain.replace(/^\[(.*)\]$/, '$1'))
}

const hostName = (header: string): string => header.toLowerCase().replace(/:\d+$/, '')

/**
 * Stops DNS rebinding: a page of another site, whose name was made to point at 127.0.0.1, reaches a server that
 * listens there; only the Host header tells it from us. What is public is ours too: a proxy on this machine asks
 * by that name. On other addresses the bearer token is the guard.
 */
export const hostGuard = (listensOn: string, { publicUrl }: Pick<Front, 'publicUrl'>) =>
  createMiddleware<ApiEnv>(async (c, next) => {
    const host = c.req.header('host') ?? new URL(c.req.url).host
    const name = hostName(host)
    if (isLoopbackHost(listensOn) && !isLoopbackHost(name) && name !== publicUrl?.hostname)
      throw problem(
        'host-not-allowed',
        `This Drover listens on loopback and does not answer as "${host.slice(0, 100)}".`,
      )
    await next()
  })

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Whether a browser may act with what it sends by itself, a cookie: only a page of ours may. Browsers send Origin
 * with every unsafe method; programs send none and are not lured anywhere. A page of the public address is ours
 * whatever Host the proxy sends on; by any other name the page must come from where the request goes.
 */
export const isSameOrigin = (request: Request, { publicUrl }: Pick<Front, 'publicUrl'>): boolean => {
  if (safeMethods.has(request.method)) return true
  const site = request.headers.get('sec-fetch-site')
  if (site !== null && site !== 'same-origin' && site !== 'none') return false
  const origin = request.headers.get('origin')
  if (origin === null || origin === publicUrl?.origin) return true
  const host = request.headers.get('host') ?? new URL(request.url).host
  // Of the public name the scheme counts too: a page without TLS is whoever stands in between.
  if (hostName(host) === publicUrl?.hostname) return false
  try {
    return new URL(origin).host === host
  } catch {
    return false
  }
}

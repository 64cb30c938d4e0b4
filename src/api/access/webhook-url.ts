import { isLoopbackHost } from '../http/peers.ts'

/**
 * Why Drover will not call this address, or undefined when it will. A webhook makes the server send requests
 * for somebody: https anywhere, plain http only to this machine, never with credentials in the URL. Addresses
 * that a name resolves to are judged again when it is called.
 */
export const refuseUrl = (text: string): string | undefined => {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    return 'must be an absolute URL'
  }
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password'
  if (url.hash !== '') return 'must not hold a fragment'
  if (url.protocol === 'https:')
    return isReserved(url.hostname) ? 'must not name a link-local or wildcard address' : undefined
  if (url.protocol !== 'http:') return 'must be https'
  return isLoopbackHost(url.hostname) ? undefined : 'must be https; http is for loopback addresses alone'
}

/** Addresses that are never somebody's receiver: cloud metadata lives on link-local ones. */
const isReserved = (hostname: string): boolean => {
  const host = hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase()
  return (
    /^(0\.|169\.254\.)/.test(host) ||
    host === '::' ||
    /^fe[89ab][0-9a-f]:/.test(host) ||
    /^::ffff:a9fe:/.test(host)
  )
}

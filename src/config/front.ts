import { BlockList, isIP } from 'node:net'

/** How Drover is reached from outside. */
export interface Front {
  /** The address that people type, where that is another one than where we listen: `https://drover.example.com`. */
  readonly publicUrl: URL | undefined
  /** Whose word counts about who asks: a proxy in front. */
  readonly trustedProxies: BlockList
}

/** The address that people use; undefined when the text is none. A path is refused: our pages live at `/`. */
export const parsePublicUrl = (text: string): URL | undefined => {
  if (!/^https?:\/\/(\[[0-9a-f:.]+\]|[\w.-]+)(:\d{1,5})?\/?$/i.test(text) || !URL.canParse(text))
    return undefined
  const url = new URL(text)
  return url.pathname === '/' && url.port !== '0' ? url : undefined
}

/** Addresses and networks (`10.0.0.0/8`), separated by commas; undefined when one of them is none. */
export const parseProxies = (text: string): BlockList | undefined => {
  const list = new BlockList()
  for (const entry of text.split(',')) {
    const [address = '', prefix, ...rest] = entry.trim().split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    const bits = family === 'ipv6' ? 128 : 32
    if (isIP(address) === 0 || rest.length > 0) return undefined
    if (prefix !== undefined && !(/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits)) return undefined
    list.addSubnet(address, prefix === undefined ? bits : Number(prefix), family)
  }
  return list
}

/** `::ffff:10.0.0.7` is `10.0.0.7`; `fe80::1%eth0` is `fe80::1`. */
const plainAddress = (address: string): string => {
  const [plain = ''] = address.split('%')
  return /^::ffff:\d+\.\d+\.\d+\.\d+$/i.test(plain) ? plain.slice('::ffff:'.length) : plain
}

const isTrusted = (proxies: BlockList, address: string): boolean => {
  const family = isIP(address)
  return family !== 0 && proxies.check(address, family === 6 ? 'ipv6' : 'ipv4')
}

/** More hops than anybody has; a longer list is somebody's attempt to make us read. */
const hopsMax = 16

/** Who asks over the Unix socket of this machine: no proxy is in front of it, so no `X-Forwarded-For` counts. */
export const localPeer = 'the local socket'

/**
 * Who asks. Whoever is connected, unless that is a trusted proxy: then the nearest hop of `X-Forwarded-For` that is
 * none, because everything to the left of it is only what that one says. A hop that is no address ends the search.
 */
export const peerOf = (
  connected: string | undefined,
  forwardedFor: string | undefined,
  proxies: BlockList,
): string => {
  let peer = connected === undefined ? 'unknown' : plainAddress(connected)
  const hops = (forwardedFor ?? '').slice(-2_000).split(',').slice(-hopsMax).reverse()
  for (const hop of hops) {
    if (!isTrusted(proxies, peer)) return peer
    const named = plainAddress(hop.trim().replace(/^(\d+\.\d+\.\d+\.\d+):\d+$|^\[(.+)\](:\d+)?$/, '$1$2'))
    if (isIP(named) === 0) return peer
    peer = named
  }
  return peer
}

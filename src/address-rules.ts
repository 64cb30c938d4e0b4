import { lookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

const subnets = (list: readonly (readonly [string, number, 'ipv4' | 'ipv6'])[]): BlockList => {
  const blocked = new BlockList()
  for (const [net, prefix, family] of list) blocked.addSubnet(net, prefix, family)
  return blocked
}

/**
 * Where nobody can be who is meant, but a cloud's metadata service with everybody's credentials often is: link-local,
 * unspecified, multicast, broadcast, and the ways to spell link-local in IPv6.
 */
const never = subnets([
  ['0.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['224.0.0.0', 3, 'ipv4'],
  ['::', 128, 'ipv6'],
  ['fe80::', 10, 'ipv6'],
  ['ff00::', 8, 'ipv6'],
  ['fd00:ec2::', 32, 'ipv6'],
  ['64:ff9b::a9fe:0', 112, 'ipv6'],
  ['2002:a9fe::', 32, 'ipv6'],
])

const loopback = subnets([
  ['127.0.0.0', 8, 'ipv4'],
  ['::1', 128, 'ipv6'],
])

const privateNets = subnets([
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['::1', 128, 'ipv6'],
  ['fc00::', 7, 'ipv6'],
  ['64:ff9b::', 96, 'ipv6'],
  ['2002::', 16, 'ipv6'],
])

const isIn = (nets: BlockList, address: string): boolean | undefined => {
  const bare = address.replace(/^\[|\]$/g, '').replace(/%.*$/, '')
  const version = isIP(bare)
  return version === 0 ? undefined : nets.check(bare, version === 4 ? 'ipv4' : 'ipv6')
}

/** Whether nobody's words may send us to this address. Asked of the address in use, after the name's look-up. */
export const refusesAddress = (address: string, options: { readonly allowPrivate: boolean }): boolean =>
  (isIn(never, address) ?? true) || (!options.allowPrivate && isIn(privateNets, address) === true)

/** In whatever spelling. */
export const isThisMachine = (address: string): boolean => isIn(loopback, address) === true

/** Looks a name up and fails when one of its addresses is refused: judged is what is connected to. */
export const judgedLookup =
  (refuses: (address: string) => boolean, problem: () => Error): LookupFunction =>
  (host, options, answer) => {
    lookup(host, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? []
      const refused = error || !first || addresses.some(({ address }) => refuses(address))
      if (refused) answer(error ?? problem(), '', 4)
      else if (options.all) answer(null, addresses)
      else answer(null, first.address, first.family)
    })
  }

import { canonicalIpv4, canonicalIpv6 } from '../../inventory/addresses.ts'

/** The bits of an address, most significant first; undefined when invalid. */
const bits = (address: string): string | undefined => {
  const four = canonicalIpv4(address)
  if (four !== undefined)
    return four
      .split('.')
      .map((byte) => Number(byte).toString(2).padStart(8, '0'))
      .join('')
  const six = canonicalIpv6(address)
  if (six === undefined) return undefined
  const [head = '', tail] = six.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? [] : new Array<string>(8 - before.length - after.length).fill('0')
  return [...before, ...zeros, ...after]
    .map((word) => Number.parseInt(word, 16).toString(2).padStart(16, '0'))
    .join('')
}

/**
 * Whether an address is in a subnet (`10.0.0.0/8`, `2001:db8::/32`); undefined: another address family, or no subnet.
 */
export const isInSubnet = (address: string, subnet: string): boolean | undefined => {
  const [base = '', length = ''] = subnet.split('/')
  const [wanted, known] = [bits(address), bits(base)]
  if (wanted === undefined || known?.length !== wanted.length || !/^\d{1,3}$/.test(length)) return undefined
  const prefix = Number(length)
  return prefix > wanted.length ? undefined : wanted.slice(0, prefix) === known.slice(0, prefix)
}

/**
 * Versions of products as in the descriptors of images: `9.4`, `v1.2.3-rc.1`, `418.92.202402201450-0`. Numbers are
 * compared as numbers and words as words. A missing part counts as zero. A suffix that follows a dash and begins with a
 * word marks a pre-release, as in semantic versioning.
 */

interface Parsed {
  readonly release: readonly string[]
  readonly before: readonly string[]
}

const parse = (text: string): Parsed | undefined => {
  const plain = text.trim().replace(/^v(?=\d)/i, '')
  const [, release, rest = ''] = /^(\d+(?:\.\d+)*)(.*)$/.exec(plain) ?? []
  if (release === undefined) return undefined
  const [tail = ''] = rest.split('+')
  const parts = tail.split(/[.\-_~\s]+/).filter((part) => part !== '')
  // `-0` and `.el9` come after the release, `-rc1` before.
  const leadsUp = /^[-~_]?[a-z]/i.test(tail) && !tail.startsWith('.')
  return leadsUp
    ? { release: release.split('.'), before: parts }
    : { release: [...release.split('.'), ...parts], before: [] }
}

const isNumber = (part: string): boolean => /^\d+$/.test(part)

const comparePart = (a: string, b: string): number => {
  if (isNumber(a) && isNumber(b)) {
    const [left, right] = [BigInt(a), BigInt(b)]
    return left < right ? -1 : left > right ? 1 : 0
  }
  if (isNumber(a) !== isNumber(b)) return isNumber(a) ? -1 : 1
  return a < b ? -1 : a > b ? 1 : 0
}

const compareParts = (a: readonly string[], b: readonly string[], missing: string | undefined): number => {
  for (let at = 0; at < Math.max(a.length, b.length); at += 1) {
    const [left, right] = [a[at] ?? missing, b[at] ?? missing]
    if (left === undefined || right === undefined) return left === right ? 0 : left === undefined ? -1 : 1
    const order = comparePart(left, right)
    if (order !== 0) return order
  }
  return 0
}

/** Below 0: `a` is older. Undefined: `a` or `b` is no version, so they cannot be compared. */
export const compareVersions = (a: string, b: string): number | undefined => {
  const [left, right] = [parse(a), parse(b)]
  if (!left || !right) return undefined
  const order = compareParts(left.release, right.release, '0')
  if (order !== 0) return order
  if (left.before.length === 0 || right.before.length === 0)
    return Math.sign(right.before.length - left.before.length)
  return compareParts(left.before, right.before, undefined)
}

interface Product {
  readonly product: string
  readonly version: string
}

/** True only for two comparable versions of the same product. */
export const isDowngrade = (from: Product, to: Product): boolean =>
  from.product === to.product && (compareVersions(to.version, from.version) ?? 0) < 0

/** One notation for each address, so that different spellings on two platforms are equal. Pure text. */

const groups = (text: string): number[] | undefined => {
  if (text === '') return []
  const parts = text.split(':')
  const last = parts.at(-1) ?? ''
  const words: number[] = []
  for (const part of last.includes('.') ? parts.slice(0, -1) : parts) {
    if (!/^[0-9a-f]{1,4}$/.test(part)) return undefined
    words.push(Number.parseInt(part, 16))
  }
  if (last.includes('.')) {
    const bytes = ipv4Bytes(last)
    if (!bytes) return undefined
    words.push((bytes[0]! << 8) | bytes[1]!, (bytes[2]! << 8) | bytes[3]!)
  }
  return words
}

const ipv4Bytes = (text: string): number[] | undefined => {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)
  const bytes = match?.slice(1).map(Number)
  return bytes?.every((byte) => byte <= 255) ? bytes : undefined
}

const ipv6Words = (text: string): number[] | undefined => {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const [head, tail] = [groups(halves[0] ?? ''), halves.length === 2 ? groups(halves[1] ?? '') : []]
  if (!head || !tail) return undefined
  if (halves.length === 1) return head.length === 8 ? head : undefined
  const zeros = 8 - head.length - tail.length
  return zeros < 1 ? undefined : [...head, ...new Array<number>(zeros).fill(0), ...tail]
}

/** The longest run of zero words becomes `::`, the first of equals (RFC 5952). */
const writeWords = (words: readonly number[]): string => {
  let best = { from: -1, length: 1 }
  for (let from = 0; from < words.length; from += 1) {
    let length = 0
    while (words[from + length] === 0) length += 1
    if (length > best.length) best = { from, length }
  }
  const hex = (part: readonly number[]) => part.map((word) => word.toString(16)).join(':')
  if (best.from < 0) return hex(words)
  return `${hex(words.slice(0, best.from))}::${hex(words.slice(best.from + best.length))}`
}

/** The address without what people add: a zone, a prefix length, capitals. */
const bare = (text: string): string =>
  text
    .trim()
    .toLowerCase()
    .replace(/[%/].*$/s, '')

/** `10.0.0.7`; undefined when invalid. */
export const canonicalIpv4 = (text: string): string | undefined => ipv4Bytes(bare(text))?.join('.')

/** RFC 5952; undefined when invalid. */
export const canonicalIpv6 = (text: string): string | undefined => {
  const address = bare(text)
  const words = address.length <= 45 && address.includes(':') ? ipv6Words(address) : undefined
  return words && writeWords(words)
}

/** Addresses at which a machine cannot be reached: link-local, loopback, unspecified. */
export const isUnroutable = (canonical: string): boolean =>
  canonical.includes(':')
    ? /^(::1?$|fe[89ab][0-9a-f]:)/.test(canonical)
    : /^(169\.254|127|0)\./.test(canonical)

/** Lower case with colons, from any notation: dashes, Cisco's dots, no separators, single digits. */
export const canonicalMac = (text: string): string | undefined => {
  if (/^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/.test(text)) return text
  const lower = text.trim().toLowerCase()
  if (lower.length > 60) return undefined
  const parts = lower.split(/[:-]/)
  const hex = (parts.length > 2 ? parts.map((part) => part.padStart(2, '0')).join('') : lower).replace(
    /[.:-]/g,
    '',
  )
  // 6 bytes, or 8 (EUI-64), or 20 (InfiniBand).
  if (!/^(?:[0-9a-f]{12}|[0-9a-f]{16}|[0-9a-f]{40})$/.test(hex)) return undefined
  return hex.match(/../g)!.join(':')
}

/** Lower case with dashes, from any notation; an id of zeros or of ones counts as none. */
export const canonicalUuid = (text: string): string | undefined => {
  if (text.length > 100) return undefined
  // The fast path: most ids are in this notation already.
  if (/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(text) && !/^[0f-]+$/.test(text))
    return text
  const hex = text
    .toLowerCase()
    .replace(/^\s*(urn:)?(uuid:)?/, '')
    .replace(/[\s{}-]/g, '')
  if (!/^[0-9a-f]{32}$/.test(hex) || /^(0+|f+)$/.test(hex)) return undefined
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

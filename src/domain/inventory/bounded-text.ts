/** Bounds what a platform says and notes everything that was cut. One instance for each cleaned thing. */
export class Cleaner {
  readonly #noted: string[] = []
  #more = 0
  #kind = ''
  #index = 0

  get problems(): readonly string[] {
    return this.#more === 0 ? this.#noted : [...this.#noted, `${this.#more} more of the same kind.`]
  }

  /** What follows concerns one item of a list. Kept as parts, so that no text is made when nothing is wrong. */
  at(kind: string, index: number): void {
    this.#kind = kind
    this.#index = index
  }

  /** What follows concerns the whole thing again. */
  whole(): void {
    this.#kind = ''
  }

  /** A field's name, with the item it belongs to. */
  #name(what: string): string {
    return this.#kind === '' ? what : `${what} of ${this.#kind} ${this.#index + 1}`
  }

  /** A sentence about a field: `The name of disk 3 is no text.` */
  about(what: string, sentence: string): void {
    const text = `${this.#name(what)} ${sentence}`
    this.note(`${text.charAt(0).toUpperCase()}${text.slice(1)}`)
  }

  note(problem: string): void {
    if (this.#noted.length < maxProblems) this.#noted.push(problem)
    else this.#more += 1
  }

  /** Text that Postgres can store and that is at most `limit` UTF-16 units long. */
  text(value: unknown, what: string, limit: number = limits.text): string {
    if (typeof value !== 'string') {
      if (value !== undefined && value !== null) this.about(what, 'is no text and was left out.')
      return ''
    }
    let text = value
    if (text.length > limit) {
      this.about(what, `has ${text.length} characters; ${limit} are kept.`)
      text = text.slice(0, limit)
      const last = text.charCodeAt(limit - 1)
      if (last >= 0xd800 && last <= 0xdbff) text = text.slice(0, -1)
    }
    if (text.includes('\0') || !text.isWellFormed()) {
      this.about(what, 'holds characters that cannot be stored; they were replaced.')
      text = text.toWellFormed().replaceAll('\0', '\ufffd')
    }
    return text
  }

  /**
   * Text for an index: at most `limit` bytes as well. Postgres refuses a row whose key is longer than 2,704 bytes, and
   * a character takes up to three.
   */
  key(value: unknown, what: string, limit: number): string {
    const text = this.text(value, what, limit)
    // The usual case.
    if (text.length * 3 <= limit) return text
    const kept = firstBytes(text, limit)
    if (kept !== text) this.about(what, `has more than ${limit} bytes; the first are kept.`)
    return kept
  }

  /** A whole number from 0 up; anything else is 0. */
  count(value: unknown, what: string): number {
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
    this.about(what, 'is no count and was set to 0.')
    return 0
  }

  /** The first `limit` items. */
  list<T>(items: readonly T[] | null | undefined, what: string, limit: number): readonly T[] {
    if (!Array.isArray(items)) return []
    if (items.length <= limit) return items as readonly T[]
    this.note(`There are ${items.length} ${this.#name(what)}; the first ${limit} are kept.`)
    return (items as readonly T[]).slice(0, limit)
  }

  /** At most `limit` keys, in order. */
  record<T>(value: Readonly<Record<string, T>> | null | undefined, what: string, limit: number) {
    const keys = Object.keys(value ?? {}).sort()
    if (keys.length > limit) this.note(`There are ${keys.length} ${what}; the first ${limit} are kept.`)
    return keys.slice(0, limit).map((key) => [key, (value as Record<string, T>)[key]] as const)
  }

  /** One item for each key, in the order of the keys; a repeated key keeps its first item. */
  byKey<T>(items: readonly T[], keyOf: (item: T) => string, what: string): T[] {
    if (items.length < 2) return [...items]
    const byKey = new Map<string, T>()
    for (const item of items) {
      const key = keyOf(item)
      if (byKey.has(key)) this.note(`Two ${what} have the key "${key.slice(0, 80)}"; the first is kept.`)
      else byKey.set(key, item)
    }
    return [...byKey.values()].sort((a, b) => naturalOrder(keyOf(a), keyOf(b)))
  }
}

/** As many whole characters as fit. No encoder: the domain uses only the language itself. */
const firstBytes = (text: string, limit: number): string => {
  let bytes = 0
  let at = 0
  for (const character of text) {
    const code = character.codePointAt(0) as number
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
    if (bytes > limit) return text.slice(0, at)
    at += character.length
  }
  return text
}

const maxProblems = 20

/** The most of anything in one instance. Far above what platforms allow. */
export const limits = {
  text: 512,
  name: 512,
  location: 2_048,
  description: 8_192,
  attribute: 2_048,
  nics: 256,
  addresses: 64,
  disks: 1_024,
  snapshots: 1_024,
  devices: 256,
  tagCategories: 256,
  tags: 64,
  tag: 256,
  attributes: 512,
  subnets: 256,
  storageHosts: 4_096,
  projects: 1_000,
} as const

/** `nic-2` before `nic-10`: runs of digits compare as numbers, the rest by code unit. Total and stable. */
export const naturalOrder = (a: string, b: string): number => {
  if (a === b) return 0
  const [left, right] = [a.match(/\d+|\D+/g) ?? [], b.match(/\d+|\D+/g) ?? []]
  for (let at = 0; at < Math.min(left.length, right.length); at += 1) {
    const [x, y] = [left[at]!, right[at]!]
    if (x === y) continue
    const [m, n] = [x.replace(/^0+(?=\d)/, ''), y.replace(/^0+(?=\d)/, '')]
    const numbers = /^\d/.test(x) && /^\d/.test(y)
    if (numbers && m !== n) return m.length - n.length || (m < n ? -1 : 1)
    if (!numbers) return x < y ? -1 : 1
  }
  return left.length - right.length || (a < b ? -1 : 1)
}

/** Without repeats, in order. */
export const sortedSet = (items: Iterable<string>): string[] => [...new Set(items)].sort(naturalOrder)

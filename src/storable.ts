/**
 * Text that Postgres can store: a guest or a tool may say anything, and one NUL byte or half a surrogate pair in
 * one job's result would refuse the whole group it is written with.
 */
export const storableText = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd')

/** One sentence takes no more of what others say. */
const longestLine = 1_000

/**
 * Words of others as a part of one line: bounded, storable, and without what breaks lines, drives a terminal or turns
 * the text around.
 */
export const storableLine = (text: string, most: number = longestLine): string =>
  storableText(text.length > most ? `${text.slice(0, most)}…` : text).replaceAll(unprintable, ' ')

const unprintable = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu

/** JSON text that Postgres can store as jsonb, whatever the value holds. */
export const storableJson = (value: unknown): string => {
  const text = plainJson(value)
  // What Postgres refuses is written as an escape: nearly always there is none, and the text is as good as it is.
  return text === undefined || text.includes('\\u') ? cleanJson(value) : text
}

const plainJson = (value: unknown): string | undefined => {
  try {
    return JSON.stringify(value)
  } catch {
    // A bigint; or what no JSON can hold, which the other way says once more.
    return undefined
  }
}

const cleanJson = (value: unknown): string =>
  JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item === 'string') return storableText(item)
    if (typeof item === 'bigint') return item.toString()
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return item
    if (Object.keys(item).every((key) => key === storableText(key))) return item
    return Object.fromEntries(Object.entries(item).map(([key, entry]) => [storableText(key), entry]))
  }) ?? 'null'

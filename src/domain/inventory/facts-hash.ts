import { hash } from 'node:crypto'

/** Field names as JSON, cached: the same few occur thousands of times. Bounded, because tags are keys too. */
const quotedKeys = new Map<string, string>()

const quoteKey = (key: string): string => {
  const known = quotedKeys.get(key)
  if (known !== undefined) return known
  const quoted = `${JSON.stringify(key)}:`
  if (quotedKeys.size < 1_000 && key.length < 64) quotedKeys.set(key, quoted)
  return quoted
}

const writeList = (list: readonly unknown[]): string => {
  let text = '['
  for (const item of list) text += text.length === 1 ? canonicalJson(item) : `,${canonicalJson(item)}`
  return `${text}]`
}

/**
 * JSON with sorted keys: equal facts give equal text, however they were stored (`jsonb` has its own order of keys). A
 * key whose value is undefined is left out.
 */
export const canonicalJson = (value: unknown): string => {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'boolean') return value ? 'true' : 'false'
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return writeList(value)
  const record = value as Record<string, unknown>
  let text = '{'
  for (const key of Object.keys(record).sort()) {
    const item = record[key]
    if (item === undefined) continue
    text += `${text.length === 1 ? '' : ','}${quoteKey(key)}${canonicalJson(item)}`
  }
  return `${text}}`
}

/** A hash that shows any change since the record. SHA-256 in base64url: 43 characters. */
export const factsHash = (facts: unknown): string => hash('sha256', canonicalJson(facts), 'base64url')

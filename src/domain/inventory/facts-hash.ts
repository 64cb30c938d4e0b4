import { hash } from 'node:crypto'

/**
 * JSON with the keys of every object in order: the same facts give the same text, however they were stored
 * (`jsonb` keeps its own order of keys). A key whose value is undefined is no key.
 */
export const canonicalJson = (value: unknown): string => {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  const record = value as Record<string, unknown>
  let text = ''
  for (const key of Object.keys(record).sort()) {
    const item = record[key]
    if (item === undefined) continue
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(item)}`
  }
  return `{${text}}`
}

/** Tells in one comparison whether anything changed since it was recorded. SHA-256 in base64url: 43 characters. */
export const factsHash = (facts: unknown): string => hash('sha256', canonicalJson(facts), 'base64url')

import type { Json } from './client.ts'

export const isFields = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Settings with some of them changed, as JSON Merge Patch (RFC 7396) has it: fields are gone into, lists are replaced as
 * a whole, null takes a field away.
 */
export const mergeSettings = (before: Json, change: Json): Json => {
  const merged: Record<string, unknown> = { ...before }
  for (const [name, value] of Object.entries(change)) {
    const old = Object.hasOwn(before, name) ? before[name] : undefined
    if (value === null) delete merged[name]
    else if (isFields(value)) merged[name] = mergeSettings(isFields(old) ? old : {}, value)
    else merged[name] = value
  }
  return merged
}

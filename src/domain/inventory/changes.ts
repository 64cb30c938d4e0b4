import { canonicalJson } from './facts-hash.ts'

/** One changed fact, small enough for an event. */
export interface Change {
  /** `cpus`, `nics[4000].mac`, `tags.env`; an item of a list is named by its key. */
  readonly path: string
  /** Null where the fact was missing. */
  readonly from: unknown
  readonly to: unknown
}

const maxChanges = 64
const maxValueLength = 240

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The items of a list by name; undefined when they have no names. */
const byName = (list: readonly unknown[]): Map<string, unknown> | undefined => {
  const items = new Map<string, unknown>()
  for (const item of list) {
    if (!isRecord(item)) return undefined
    const name = item.key ?? item.ref
    if (typeof name !== 'string' || items.has(name)) return undefined
    items.set(name, item)
  }
  return items
}

/** A value for an event: whole when small, otherwise its beginning as text. */
const bounded = (value: unknown): unknown => {
  if (value === undefined) return null
  if (typeof value === 'string')
    return value.length <= maxValueLength ? value : `${value.slice(0, maxValueLength).toWellFormed()}…`
  if (typeof value !== 'object' || value === null) return value
  const text = canonicalJson(value)
  return text.length <= maxValueLength ? value : `${text.slice(0, maxValueLength).toWellFormed()}…`
}

/** Without inherited properties: a tag may be called `constructor`. */
const own = (record: Record<string, unknown>, key: string): unknown =>
  Object.hasOwn(record, key) ? record[key] : undefined

const walk = (path: string, before: unknown, after: unknown, found: Change[]): void => {
  if (before === after) return
  if (isRecord(before) && isRecord(after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)])
    for (const key of [...keys].sort())
      walk(path === '' ? key : `${path}.${key.slice(0, 120)}`, own(before, key), own(after, key), found)
    return
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    const [old, now] = [byName(before), byName(after)]
    if (old && now) {
      for (const name of new Set([...old.keys(), ...now.keys()]))
        walk(`${path}[${name.slice(0, 120)}]`, old.get(name), now.get(name), found)
      return
    }
  }
  if (before === undefined || after === undefined || canonicalJson(before) !== canonicalJson(after))
    found.push({ path: path.toWellFormed(), from: bounded(before), to: bounded(after) })
}

/**
 * The differences, field by field, in a stable order. Bounded: beyond 64 changes the last one is `{ path: 'more',
 * from: null, to: <how many were left out> }`.
 */
export const diffFacts = (before: object, after: object): Change[] => {
  const found: Change[] = []
  walk('', before, after, found)
  if (found.length <= maxChanges) return found
  return [...found.slice(0, maxChanges), { path: 'more', from: null, to: found.length - maxChanges }]
}

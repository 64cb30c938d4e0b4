import fc from 'fast-check'
import { hostileValues } from './hostile-words.ts'

type Path = readonly (string | number)[]

/** Every place in a value, the value itself too. */
export const placesIn = (value: unknown, at: Path = []): Path[] => {
  if (typeof value !== 'object' || value === null) return [at]
  return [at, ...Object.entries(value).flatMap(([key, inner]) => placesIn(inner, [...at, key]))]
}

/** A copy with something else at that place; `undefined` takes it away. */
export const withAt = (value: unknown, path: Path, put: unknown): unknown => {
  const [key, ...rest] = path
  if (key === undefined) return put
  if (Array.isArray(value) && !/^\d+$/.test(String(key))) return value
  const copy: Record<string, unknown> = Array.isArray(value)
    ? ([...(value as unknown[])] as unknown as Record<string, unknown>)
    : { ...(value as Record<string, unknown>) }
  if (rest.length === 0 && put === undefined) delete copy[key]
  else copy[key] = withAt(copy[key], rest, put)
  return copy
}

/** A valid answer with one to three of its places spoilt. */
export const mutated = (valid: unknown): fc.Arbitrary<unknown> => {
  const places = placesIn(valid)
  const put = fc.oneof(fc.constantFrom(undefined, ...hostileValues), fc.jsonValue({ maxDepth: 3 }))
  return fc.array(fc.tuple(fc.constantFrom(...places), put), { minLength: 1, maxLength: 3 }).map((changes) =>
    changes.reduce<unknown>((value, [path, what]) => {
      // An earlier change may have taken the place away.
      const exists = path.slice(0, -1).reduce<unknown>((at, key) => (at as never)?.[key], value)
      return path.length === 0 || (typeof exists === 'object' && exists !== null)
        ? withAt(value, path, what)
        : value
    }, valid),
  )
}

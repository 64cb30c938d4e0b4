import { z } from 'zod'

const unitMs: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 }
const longestMs = 366 * 24 * 3_600_000

/** Milliseconds of a text such as `10m` or `1h30m`; undefined when invalid. */
export const parseDuration = (text: string): number | undefined => {
  if (!/^(\d{1,9}(h|ms|m|s))+$/.test(text)) return undefined
  let total = 0
  for (const [, amount, unit] of text.matchAll(/(\d+)(h|ms|m|s)/g))
    total += Number(amount) * (unitMs[unit ?? ''] ?? 0)
  return total <= longestMs ? total : undefined
}

/** A duration as a person writes it. Stored and shown as written. */
export const durationSchema = (least: '0s' | '1s') =>
  z
    .string()
    .max(40)
    .refine(
      (text) => parseDuration(text) !== undefined,
      'must be a time such as 90s, 10m or 1h30m, at most a year',
    )
    .refine(
      (text) => (parseDuration(text) ?? 1_000) >= (parseDuration(least) ?? 0),
      `must be at least ${least}`,
    )

/** Milliseconds of a duration that passed its schema. */
export const durationMs = (text: string): number => {
  const ms = parseDuration(text)
  if (ms === undefined) throw new Error(`"${text}" is not a duration.`)
  return ms
}

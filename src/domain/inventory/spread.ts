import { hash } from 'node:crypto'

/** A number from 0 up to 1 that is always the same for the same key, and evenly spread over keys. */
export const spreadOf = (key: string): number =>
  Number.parseInt(hash('sha256', key, 'hex').slice(0, 12), 16) / 2 ** 48

/** New sites are looked at within this time, not all in the same second. */
const firstWithinMs = 15_000

/** Failing sites are tried less and less often, at most this many intervals apart. */
const maxSlowdown = 8

export interface Rhythm {
  /** What is spread: the kind of work and the site, such as `sync/paris`. */
  readonly key: string
  /** 0: never by itself. */
  readonly intervalMs: number
  /** When the last try began; null: never. */
  readonly last: Date | null
  /** Failed tries in a row. */
  readonly failures: number
  readonly now: Date
}

/**
 * When something that is done again and again is due next, or null for never. Every key has its own place in the
 * interval, so that a hundred sites with the same interval do not start together, not even after a restart; and
 * the place never moves, so that a slow run does not shift the next.
 */
export const nextDueAt = ({ key, intervalMs, last, failures, now }: Rhythm): Date | null => {
  if (intervalMs <= 0) return null
  const spread = spreadOf(key)
  if (!last) return new Date(now.getTime() + Math.floor(spread * Math.min(firstWithinMs, intervalMs)))
  const step = intervalMs * Math.min(maxSlowdown, 2 ** Math.min(failures, 10))
  const phase = Math.floor(spread * step)
  // A clock that was set back must not mean waiting until it is there again.
  const begun = Math.min(last.getTime(), now.getTime())
  const next = Math.floor((begun - phase) / step) * step + phase + step
  return new Date(next - begun < step / 2 ? next + step : next)
}

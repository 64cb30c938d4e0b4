import { z } from 'zod'

/** What client and server of the lab agree on, and what the client takes at most. */
export const wireLimits = {
  pageMax: 1_000,
  pageDefault: 500,
  bodyBytes: 1024 * 1024,
  /** Of one ranged read or write of a disk. */
  rangeBytes: 16 * 1024 * 1024,
  blockBytes: 64 * 1024,
  nameChars: 255,
  ports: 1_000,
  refChars: 512,
  textChars: 65_536,
  cursorChars: 8_192,
  extents: 100_000,
} as const

/** How many of anything one list of an answer may have: far above what the lab makes, and what is kept of a machine. */
const mostInList = 10_000

/** A list whose length is looked at before its items: each item that does not fit makes a finding that takes room. */
export const wireList = <Item extends z.ZodType>(item: Item, most: number = mostInList) =>
  z.array(z.unknown()).max(most).pipe(z.array(item))

/** The same for an object with any keys. */
export const wireRecord = <Value extends z.ZodType>(value: Value, most: number = mostInList) =>
  z
    .record(z.string(), z.unknown())
    .refine((record) => Object.keys(record).length <= most, { error: `more than ${most} keys`, abort: true })
    .pipe(z.record(z.string(), value))

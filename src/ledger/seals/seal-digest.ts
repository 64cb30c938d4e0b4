import { createHash, type Hash } from 'node:crypto'
import type { Queryable } from '../../../db/client.ts'
import { type EventBytes, readEventBytes } from '../../../db/queries/events/read-event-bytes.ts'
import type { SealRange } from '../../../db/queries/seals/seal-events.ts'

/**
 * The version of new seals. Version 1 was hashed by the database; its chains are still verified, here in the process.
 */
export const sealVersion = 2

export interface SealDigest {
  readonly events: number
  readonly hash: Buffer
}

/** Small enough that a page blocks the process for a few milliseconds only. */
const pageRows = 1_000

/**
 * The hash of a range, computed in this process from the bytes of the database: a manipulated database could return
 * any hash. One page is in memory at a time, however large a transaction is.
 */
export const digestRange = async (
  db: Queryable,
  range: SealRange,
  version = sealVersion,
): Promise<SealDigest> => {
  const digest = version === 1 ? new FirstDigest() : new Digest(range)
  let events = 0
  for await (const page of readEventBytes(db, range, pageRows)) {
    digest.add(page)
    events += page.length
  }
  return { events, hash: digest.end(range, events) }
}

/** The link of the chain and the range, then every event: its columns in order, each after its length. */
class Digest {
  readonly #hash: Hash

  constructor(range: SealRange) {
    const { seq, era, fromXid, toXid, previousHash } = range
    this.#hash = createHash('sha256')
      .update(`drover-seal-2\n${seq}\n${era}\n${fromXid}\n${toXid}\n`)
      .update(previousHash)
  }

  add(page: readonly EventBytes[]): void {
    this.#hash.update(encodeEvents(page))
  }

  end(): Buffer {
    return this.#hash.digest()
  }
}

/** No length is this large; an empty text has length 0. */
const nullLength = 0xffffffff

/** Four bytes of length and the column's bytes, column by column: different events never have the same encoding. */
export const encodeEvents = (page: readonly EventBytes[]): Buffer => {
  let size = 0
  for (const event of page) for (const value of event) size += 4 + (value?.length ?? 0)
  const encoded = Buffer.allocUnsafe(size)
  let at = 0
  for (const event of page)
    for (const value of event) {
      at = encoded.writeUInt32BE(value?.length ?? nullLength, at)
      if (value) {
        encoded.set(value, at)
        at += value.length
      }
    }
  return encoded
}

/** As the version before did it in SQL: a hash of Postgres's text of each row, and one over all of them. */
class FirstDigest {
  readonly #digests: Buffer[] = []

  add(page: readonly EventBytes[]): void {
    for (const event of page) this.#digests.push(createHash('sha256').update(rowText(event)).digest())
  }

  end(range: SealRange, events: number): Buffer {
    const { seq, era, fromXid, toXid, previousHash } = range
    return createHash('sha256')
      .update(previousHash)
      .update(['drover-seal-1', seq, era, fromXid, toXid, events].join('|'))
      .update(Buffer.concat(this.#digests))
      .digest()
  }
}

const momentColumn = 3

/** Postgres's text of a row: a value is quoted when it is empty or contains a separator. */
const rowText = (event: EventBytes): string => {
  const values = event.map((value, column) => {
    if (value === null) return ''
    const text = value.toString('utf8')
    if (column === momentColumn) return String(Math.round(Number(text) * 1000))
    return text === '' || /["\\(), \t\n\v\f\r]/.test(text) ? `"${text.replaceAll(/["\\]/g, '$&$&')}"` : text
  })
  return `(${values.join(',')})`
}

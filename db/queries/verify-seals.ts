import type { Queryable } from '../client.ts'
import { rangeBody, type SealRow, sealHash } from './seal-events.ts'

/** A stored seal beside what its events say now. */
export interface CheckedSeal extends SealRow {
  readonly prunedAt: Date | null
  readonly foundEvents: number
  readonly foundHash: Buffer
}

export interface StoredSeal extends SealRow {
  readonly prunedAt: Date | null
}

const columns = (db: Queryable) => db`
  seq, era, from_xid::text as from_xid, to_xid::text as to_xid, events, previous_hash, hash, mac,
  floor(extract(epoch from sealed_at) * 1000)::bigint as sealed_at_ms, pruned_at`

export const readSeal = async (db: Queryable, seq: number): Promise<StoredSeal | undefined> => {
  const [seal] = await db<StoredSeal[]>`select ${columns(db)} from event_seal where seq = ${seq}`
  return seal
}

/** The first seal behind `seq`. */
export const readSealAfter = async (db: Queryable, seq: number): Promise<StoredSeal | undefined> => {
  const [seal] = await db<StoredSeal[]>`
    select ${columns(db)} from event_seal where seq > ${seq} order by seq limit 1`
  return seal
}

/**
 * Hashes a seal's events anew. `prunedAt` is read again in the same statement, because retention may take the
 * events away between two statements.
 */
export const recomputeSeal = async (db: Queryable, seal: StoredSeal): Promise<CheckedSeal> => {
  const [found] = await db<{ events: number; hash: Buffer; prunedAt: Date | null }[]>`
    select body.events, ${sealHash(db, seal)} as hash,
      (select pruned_at from event_seal where seq = ${seal.seq}) as pruned_at
    from (${rangeBody(db, seal)}) body`
  if (!found) throw new Error('Postgres did not answer with a digest.')
  return { ...seal, prunedAt: found.prunedAt, foundEvents: found.events, foundHash: found.hash }
}

/** Events that no seal's range can hold: eras before the first. */
export const countEventsBeforeEras = async (db: Queryable): Promise<number> => {
  const [row] = await db<{ events: number }[]>`select count(*)::int as events from event where era < 1`
  return row?.events ?? 0
}

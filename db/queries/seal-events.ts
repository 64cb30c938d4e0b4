import type { Queryable } from '../client.ts'

/** The end of an era that will get no more events: larger than any transaction id. */
export const endOfEra = '18446744073709551615'

/** What one seal covers: events of [fromXid, toXid) in one era. Ranges tile all of time, without a gap. */
export interface SealRange {
  readonly seq: number
  readonly era: number
  readonly fromXid: string
  readonly toXid: string
  readonly previousHash: Buffer
}

export interface SealDigest {
  readonly events: number
  readonly hash: Buffer
  /** The database's clock, so that what is signed and what is stored are the same moment. */
  readonly nowMs: number
}

export interface SealRow extends SealRange {
  readonly events: number
  readonly hash: Buffer
  readonly mac: Buffer
  readonly sealedAtMs: number
}

interface Head {
  seq: number
  era: number
  toXid: string
  hash: Buffer
}

/** What the first seal names as its predecessor. */
export const genesisHash = Buffer.alloc(32)

/** The range that follows a seal. An era's last range reaches to its end; the next era begins at zero. */
export const rangeAfter = (head: Head | undefined): Omit<SealRange, 'toXid'> => {
  if (!head) return { seq: 1, era: 1, fromXid: '0', previousHash: genesisHash }
  const closed = head.toXid === endOfEra
  return {
    seq: head.seq + 1,
    era: closed ? head.era + 1 : head.era,
    fromXid: closed ? '0' : head.toXid,
    previousHash: head.hash,
  }
}

/**
 * The next range to seal, or nothing when no final event waits. It ends below the oldest running transaction
 * and holds about `eventsMax` events: it is cut only between transactions, so one large transaction is one seal.
 */
export const nextSealRange = async (db: Queryable, eventsMax: number): Promise<SealRange | undefined> => {
  const [now] = await db<{ era: number; xmin: string }[]>`
    select coalesce((select value::int from ledger_fact where name = 'era'), 1) as era,
      pg_snapshot_xmin(pg_current_snapshot())::text as xmin`
  const [head] = await db<Head[]>`
    select seq, era, to_xid::text as to_xid, hash from event_seal order by seq desc limit 1`
  const range = rangeAfter(head)
  if (!now || range.era > now.era) return undefined
  const over = range.era < now.era
  const end = over ? endOfEra : now.xmin
  const [cut] = await db<{ first: string | null; beyond: string | null; afterFirst: string | null }[]>`
    select first.xid::text as first, beyond.xid::text as beyond,
      (first.xid::text::numeric + 1)::text as after_first
    from (values (1)) one
    left join lateral (
      select xid from event where era = ${range.era} and xid >= ${range.fromXid}::xid8 and xid < ${end}::xid8
      order by xid, id limit 1
    ) first on true
    left join lateral (
      select xid from event where era = ${range.era} and xid >= ${range.fromXid}::xid8 and xid < ${end}::xid8
      order by xid, id offset ${eventsMax} limit 1
    ) beyond on true`
  if (!cut?.first) return over ? { ...range, toXid: end } : undefined
  if (cut.beyond === null) return { ...range, toXid: end }
  const toXid = cut.beyond === cut.first ? cut.afterFirst : cut.beyond
  return { ...range, toXid: toXid ?? end }
}

/**
 * The hash of a range, computed where the events are. Each event is hashed from a canonical text (Postgres's own
 * form of a row: no content can forge its quoting, and it costs half of a JSON array), then the chain's link, the
 * range and all event hashes together, so a transaction of any size needs 32 bytes an event. Events are taken in
 * (xid, id) order.
 */
export const digestRange = async (db: Queryable, range: SealRange): Promise<SealDigest> => {
  const [digest] = await db<SealDigest[]>`
    select body.events, ${sealHash(db, range)} as hash,
      floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms
    from (${rangeBody(db, range)}) body`
  if (!digest) throw new Error('Postgres did not answer with a digest.')
  return digest
}

export const sealHash = (db: Queryable, range: SealRange) => db`
  sha256(${range.previousHash}::bytea || convert_to(concat_ws('|', 'drover-seal-1', ${range.seq}::bigint,
    ${range.era}::int, ${range.fromXid}::text, ${range.toXid}::text, body.events), 'UTF8') || body.digests)`

export const rangeBody = (db: Queryable, range: Pick<SealRange, 'era' | 'fromXid' | 'toXid'>) => db`
  select count(*)::int as events, coalesce(string_agg(sha256(convert_to(row(
    era, xid, id, (date_part('epoch', at) * 1000)::bigint, type, subject_type, subject_id, job_id, actor,
    from_state, to_state, reason, detail)::text, 'UTF8')), ''::bytea order by xid, id), ''::bytea) as digests
  from event
  where era = ${range.era} and xid >= ${range.fromXid}::xid8 and xid < ${range.toXid}::xid8`

/** Stores a seal. False when another sealer was first: its seal of the same events is as good. */
export const insertSeal = async (db: Queryable, seal: SealRow): Promise<boolean> => {
  const stored = await db`
    insert into event_seal (seq, era, from_xid, to_xid, events, previous_hash, hash, mac, sealed_at)
    values (${seal.seq}, ${seal.era}, ${seal.fromXid}::xid8, ${seal.toXid}::xid8, ${seal.events},
      ${seal.previousHash}, ${seal.hash}, ${seal.mac}, to_timestamp(${seal.sealedAtMs}::bigint / 1000.0))
    on conflict (seq) do nothing`
  return stored.count === 1
}

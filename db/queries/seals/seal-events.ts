import type { Queryable } from '../../client.ts'

/** The end of an era without further events: larger than any transaction id. */
export const endOfEra = '18446744073709551615'

/** What one seal covers: the events of [fromXid, toXid) in one era. Ranges cover all of time without a gap. */
export interface SealRange {
  readonly seq: number
  readonly era: number
  readonly fromXid: string
  readonly toXid: string
  readonly previousHash: Buffer
}

export interface SealRow extends SealRange {
  /** How the events were hashed: see src/ledger/seals/seal-digest.ts. */
  readonly version: number
  readonly events: number
  readonly hash: Buffer
  readonly mac: Buffer
  readonly sealedAtMs: number
}

type Head = Pick<SealRow, 'seq' | 'era' | 'toXid' | 'hash'>

/** The predecessor of the first seal. */
export const genesisHash = Buffer.alloc(32)

/** The range after a seal. An era's last range reaches to its end; the next era begins at zero. */
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
 * The next range to seal, or undefined when no final event is unsealed. It ends below the oldest running transaction
 * and holds about `eventsMax` events: it is cut only between transactions, so one large transaction is one seal. The
 * era is that of the column's default, which only the owner changes.
 */
export const nextSealRange = async (db: Queryable, eventsMax: number): Promise<SealRange | undefined> => {
  const [now] = await db<{ era: number; xmin: string }[]>`
    select (select pg_catalog.pg_get_expr(adbin, adrelid)::pg_catalog.int4 from pg_catalog.pg_attrdef
        join pg_catalog.pg_attribute on attrelid = adrelid and attnum = adnum
        where adrelid = 'public.event'::pg_catalog.regclass and attname = 'era') as era,
      pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())::pg_catalog.text as xmin`
  const [head] = await db<Head[]>`
    select seq, era, to_xid::pg_catalog.text as to_xid, hash from public.event_seal order by seq desc limit 1`
  const range = rangeAfter(head)
  if (!now || range.era > now.era) return undefined
  const over = range.era < now.era
  const end = over ? endOfEra : now.xmin
  const first = await xidInRange(db, { ...range, toXid: end }, 0)
  if (first === undefined) return over ? { ...range, toXid: end } : undefined
  const beyond = await xidInRange(db, { ...range, toXid: end }, eventsMax)
  if (beyond === undefined) return { ...range, toXid: end }
  return { ...range, toXid: beyond === first ? String(BigInt(first) + 1n) : beyond }
}

/** The transaction of the range's event number `offset`, counted from zero. */
const xidInRange = async (
  db: Queryable,
  range: Pick<SealRange, 'era' | 'fromXid' | 'toXid'>,
  offset: number,
): Promise<string | undefined> => {
  const [row] = await db<{ xid: string }[]>`
    select xid::pg_catalog.text as xid from public.event
    where era = ${range.era}::smallint and xid >= ${range.fromXid}::pg_catalog.xid8
      and xid < ${range.toXid}::pg_catalog.xid8
    order by event.xid, event.id offset ${offset}::bigint limit 1`
  return row?.xid
}

/** Stores a seal. False when another sealer was first: its seal of the same events is as good. */
export const insertSeal = async (db: Queryable, seal: SealRow): Promise<boolean> => {
  const stored = await db`
    insert into public.event_seal (seq, era, from_xid, to_xid, events, previous_hash, hash, mac, sealed_at, version)
    values (${seal.seq}, ${seal.era}, ${seal.fromXid}::pg_catalog.xid8, ${seal.toXid}::pg_catalog.xid8,
      ${seal.events}, ${seal.previousHash}, ${seal.hash}, ${seal.mac},
      ${new Date(seal.sealedAtMs)}, ${seal.version})
    on conflict (seq) do nothing`
  return stored.count === 1
}

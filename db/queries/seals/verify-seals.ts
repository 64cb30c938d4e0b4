import type { Queryable } from '../../client.ts'
import type { SealRow } from './seal-events.ts'

export interface StoredSeal extends SealRow {
  /** Only for the upgrade: the statement counts. */
  readonly prunedAt: Date | null
}

const columns = (db: Queryable) => db`
  seq, era, from_xid::pg_catalog.text as from_xid, to_xid::pg_catalog.text as to_xid, events, previous_hash, hash,
  mac, (extract(epoch from sealed_at) * 1000)::bigint as sealed_at_ms, pruned_at, version`

export const readSeal = async (db: Queryable, seq: number): Promise<StoredSeal | undefined> => {
  const [seal] = await db<StoredSeal[]>`
    select ${columns(db)} from public.event_seal where seq = ${seq}::bigint`
  return seal
}

/** The newest seal. */
export const readNewestSeal = async (db: Queryable): Promise<StoredSeal | undefined> => {
  const [seal] = await db<StoredSeal[]>`
    select ${columns(db)} from public.event_seal order by seq desc limit 1`
  return seal
}

/** The first seal of this version. */
export const readFirstSealOfVersion = async (
  db: Queryable,
  version: number,
): Promise<StoredSeal | undefined> => {
  const [seal] = await db<StoredSeal[]>`
    select ${columns(db)} from public.event_seal where version = ${version}::smallint order by seq limit 1`
  return seal
}

/** The first seals after `seq`. */
export const readSealsAfter = async (db: Queryable, seq: number, limit: number): Promise<StoredSeal[]> =>
  await db<StoredSeal[]>`
    select ${columns(db)} from public.event_seal where seq > ${seq}::bigint order by seq limit ${limit}::bigint`

/** A signed statement that retention has removed the events of some seals. */
export interface PruneStatement {
  readonly fromSeq: number
  readonly toSeq: number
  /** `accepted`: they were gone without a statement when statements were introduced. */
  readonly kind: 'pruned' | 'accepted'
  readonly keptDays: number
  readonly throughHash: Buffer
  readonly prunedBy: string
  readonly atMs: number
  readonly mac: Buffer
}

const statement = (db: Queryable) => db`
  from_seq, to_seq, kind, kept_days, through_hash, pruned_by,
  (extract(epoch from at) * 1000)::bigint as at_ms, mac`

/** The statement that covers a seal: the last that begins at or before it. */
export const readStatementAbout = async (db: Queryable, seq: number): Promise<PruneStatement | undefined> => {
  const [row] = await db<PruneStatement[]>`
    select ${statement(db)} from public.event_prune where from_seq <= ${seq}::bigint
    order by from_seq desc limit 1`
  return row && row.toSeq >= seq ? row : undefined
}

export const readNewestStatement = async (db: Queryable): Promise<PruneStatement | undefined> => {
  const [row] = await db<PruneStatement[]>`
    select ${statement(db)} from public.event_prune order by from_seq desc limit 1`
  return row
}

/** The first statements after the one that begins at `fromSeq`. */
export const readStatementsAfter = async (
  db: Queryable,
  fromSeq: number,
  limit: number,
): Promise<PruneStatement[]> =>
  await db<PruneStatement[]>`
    select ${statement(db)} from public.event_prune where from_seq > ${fromSeq}::bigint
    order by from_seq limit ${limit}::bigint`

/**
 * The last statements with a shorter retention than this, the newest first. The reader checks whether they are valid.
 */
export const readStatementsBelow = async (
  db: Queryable,
  keptDays: number,
  limit: number,
): Promise<PruneStatement[]> =>
  await db<PruneStatement[]>`
    select ${statement(db)} from public.event_prune where kept_days < ${keptDays}::integer
    order by from_seq desc limit ${limit}::bigint`

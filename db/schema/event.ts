import { sql } from 'drizzle-orm'
import {
  type AnyPgColumn,
  bigint,
  boolean,
  check,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  smallint,
  text,
  uuid,
} from 'drizzle-orm/pg-core'
import { bytea, moment, xid8 } from './columns.ts'

/**
 * Audit and lifecycle, written in the transaction of the change it tells of. Ordered by (era, xid, id): all
 * rows with an xid below the oldest running transaction are final, so a reader that stops there misses none.
 * `era` grows when the database is restored into another cluster, whose transaction ids start anew.
 */
export const event = pgTable(
  'event',
  {
    era: smallint('era').notNull().default(1),
    xid: xid8('xid').notNull().default(sql`pg_current_xact_id()`),
    id: bigint('id', { mode: 'number' }).generatedAlwaysAsIdentity({ cache: 100 }),
    at: moment('at').notNull().defaultNow(),
    type: text('type').notNull(),
    subjectType: text('subject_type').notNull(),
    subjectId: text('subject_id').notNull(),
    jobId: uuid('job_id'),
    actor: text('actor').notNull(),
    fromState: text('from_state'),
    toState: text('to_state'),
    reason: text('reason'),
    detail: jsonb('detail').$type<Record<string, unknown>>(),
  },
  (t) => [
    primaryKey({ columns: [t.era, t.xid, t.id] }),
    index('event_job').on(t.jobId, t.id).where(sql`${t.jobId} is not null`),
    index('event_subject').on(t.subjectType, t.subjectId, t.id).where(sql`${t.jobId} is null`),
  ],
)

export type EventRow = typeof event.$inferSelect

/** Within what a process can hold as a date, so neither infinite nor beyond the year 9999. */
const readableMoment = (column: AnyPgColumn) =>
  sql`${column} >= '1970-01-01 00:00:00+00'::timestamptz and ${column} < '9999-12-31 00:00:00+00'::timestamptz`

/** One link of the hash chain over events: `hash` covers the previous link and every event of the range. */
export const eventSeal = pgTable(
  'event_seal',
  {
    seq: bigint('seq', { mode: 'number' }).primaryKey(),
    era: smallint('era').notNull(),
    /** Events of [from_xid, to_xid) in this era. */
    fromXid: xid8('from_xid').notNull(),
    toXid: xid8('to_xid').notNull(),
    events: integer('events').notNull(),
    previousHash: bytea('previous_hash').notNull(),
    hash: bytea('hash').notNull(),
    /** HMAC of the whole link with the installation's key, which is not in the database. */
    mac: bytea('mac').notNull(),
    sealedAt: moment('sealed_at').notNull().defaultNow(),
    /** For people and for processes of the version before; what counts is the statement in `event_prune`. */
    prunedAt: moment('pruned_at'),
    /** How the events were hashed: 1 by the database (the version before), 2 in the process. */
    version: smallint('version').notNull().default(1),
  },
  // A login may add seals without the key: no number and no moment that a process could not read.
  (t) => [
    check('event_seal_seq', sql`${t.seq} between 1 and 9007199254740991`),
    check('event_seal_moment', readableMoment(t.sealedAt)),
  ],
)

/** What retention took away: signed statements about seals from the first on, without a gap. Never removed. */
export const eventPrune = pgTable(
  'event_prune',
  {
    fromSeq: bigint('from_seq', { mode: 'number' }).primaryKey(),
    toSeq: bigint('to_seq', { mode: 'number' }).notNull(),
    /** `pruned` by the rules, or `accepted`: gone without a statement before there were statements. */
    kind: text('kind').notNull(),
    keptDays: integer('kept_days').notNull(),
    /** The hash of the seal `to_seq`: a statement is about this chain and no other. */
    throughHash: bytea('through_hash').notNull(),
    prunedBy: text('pruned_by').notNull(),
    at: moment('at').notNull(),
    mac: bytea('mac').notNull(),
  },
  (t) => [
    check('event_prune_range', sql`${t.fromSeq} >= 1 and ${t.toSeq} >= ${t.fromSeq}`),
    check('event_prune_seq', sql`${t.toSeq} <= 9007199254740991`),
    check('event_prune_moment', readableMoment(t.at)),
    check('event_prune_kind', sql`${t.kind} in ('pruned', 'accepted')`),
  ],
)

/** The one row that `drover_prune_events` looks at; only `migrate` writes it. */
export const eventFloor = pgTable(
  'event_floor',
  {
    single: boolean('single').primaryKey().default(true),
    keptDaysMin: integer('kept_days_min').notNull(),
  },
  (t) => [check('event_floor_only', sql`${t.single} and ${t.keptDaysMin} >= 1`)],
)

import { sql } from 'drizzle-orm'
import { bigint, index, integer, jsonb, pgTable, primaryKey, smallint, text, uuid } from 'drizzle-orm/pg-core'
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

/** One link of the hash chain over events: `hash` covers the previous link and every event of the range. */
export const eventSeal = pgTable('event_seal', {
  seq: bigint('seq', { mode: 'number' }).primaryKey(),
  era: smallint('era').notNull(),
  /** Events of [from_xid, to_xid) in this era. */
  fromXid: xid8('from_xid').notNull(),
  toXid: xid8('to_xid').notNull(),
  events: integer('events').notNull(),
  previousHash: bytea('previous_hash').notNull(),
  hash: bytea('hash').notNull(),
  /** HMAC of `hash` with the installation's key, which is not in the database. */
  mac: bytea('mac').notNull(),
  sealedAt: moment('sealed_at').notNull().defaultNow(),
  prunedAt: moment('pruned_at'),
})

import {
  bigint,
  boolean,
  doublePrecision,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  uuid,
} from 'drizzle-orm/pg-core'
import { moment } from './columns.ts'

/**
 * Ends and refusals that are not counted yet. Each is written in the transaction that ends the operation: with a shared
 * counter row, all these transactions would wait for one another.
 */
export const operationEnd = pgTable('operation_end', {
  id: bigint('id', { mode: 'number' }).generatedAlwaysAsIdentity().primaryKey(),
  kind: text('kind').notNull(),
  force: boolean('force').notNull(),
  /** `completed`, `failed`, `canceled`, `superseded`, `refused`, `cancel-refused`. */
  outcome: text('outcome').notNull(),
  reason: text('reason').notNull(),
  /** Until it started, or ended without a start. */
  waitedSeconds: doublePrecision('waited_seconds').notNull().default(0),
  /** From its start to its end; 0: it had not started. */
  ranSeconds: doublePrecision('ran_seconds').notNull().default(0),
})

/** How often operations have ended in each way, since the ledger exists. Never decreased: pruned operations stay counted. */
export const operationCount = pgTable(
  'operation_tally',
  {
    kind: text('kind').notNull(),
    force: boolean('force').notNull(),
    outcome: text('outcome').notNull(),
    reason: text('reason').notNull(),
    times: bigint('times', { mode: 'number' }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.kind, t.force, t.outcome, t.reason] })],
)

/**
 * How long operations waited and ran, in buckets, since the ledger exists. Each row counts the values between its bound
 * and the bound below, so that the counts stay true when the bounds change.
 */
export const operationSpan = pgTable(
  'operation_span',
  {
    kind: text('kind').notNull(),
    outcome: text('outcome').notNull(),
    /** `waited`: until it started, or ended without a start; `ran`: from its start to its end. */
    span: text('span').notNull(),
    /** Upper bound, in seconds. */
    le: doublePrecision('le').notNull(),
    times: bigint('times', { mode: 'number' }).notNull(),
    seconds: doublePrecision('seconds').notNull(),
  },
  (t) => [primaryKey({ columns: [t.kind, t.outcome, t.span, t.le] })],
)

/** Repeated refusals of the same request by the same person: always counted, and reported as an event only now and then. */
export const operationRefusal = pgTable(
  'operation_refusal',
  {
    machineId: uuid('machine_id').notNull(),
    kind: text('kind').notNull(),
    force: boolean('force').notNull(),
    reason: text('reason').notNull(),
    askedBy: text('asked_by').notNull(),
    /** Refusals since the last event about them, including the reported one. */
    times: integer('times').notNull(),
    /** Refusals between the last two events. */
    unsaid: integer('unsaid').notNull().default(0),
    /** The time of the last event. */
    since: moment('since').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.machineId, t.kind, t.force, t.reason, t.askedBy] }),
    index('operation_refusal_since').on(t.since),
  ],
)

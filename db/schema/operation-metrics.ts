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
 * What has ended, or was refused, and is not in the tally yet. Written in the transaction that ends it: a tally that
 * each of them counted up would have all of them wait for one another.
 */
export const operationEnd = pgTable('operation_end', {
  id: bigint('id', { mode: 'number' }).generatedAlwaysAsIdentity().primaryKey(),
  kind: text('kind').notNull(),
  force: boolean('force').notNull(),
  /** `completed`, `failed`, `canceled`, `superseded`, `refused`, `cancel-refused`. */
  outcome: text('outcome').notNull(),
  reason: text('reason').notNull(),
  /** Until it began, or ended without having begun. */
  waitedSeconds: doublePrecision('waited_seconds').notNull().default(0),
  /** From its beginning to its end; 0: it had not begun. */
  ranSeconds: doublePrecision('ran_seconds').notNull().default(0),
})

/** How often each end has come about since there is a ledger. Never counted down: what is pruned stays counted. */
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
 * How long operations waited and ran, in buckets, since there is a ledger. Each row counts what fell between its bound
 * and the one below: with other bounds some day, what was counted stays true.
 */
export const operationSpan = pgTable(
  'operation_span',
  {
    kind: text('kind').notNull(),
    outcome: text('outcome').notNull(),
    /** `waited`: until it began, or ended without having begun; `ran`: from its beginning to its end. */
    span: text('span').notNull(),
    /** At most so many seconds. */
    le: doublePrecision('le').notNull(),
    times: bigint('times', { mode: 'number' }).notNull(),
    seconds: doublePrecision('seconds').notNull(),
  },
  (t) => [primaryKey({ columns: [t.kind, t.outcome, t.span, t.le] })],
)

/** The same refusal to the same person in a row: told of once in a while, counted always. */
export const operationRefusal = pgTable(
  'operation_refusal',
  {
    machineId: uuid('machine_id').notNull(),
    kind: text('kind').notNull(),
    force: boolean('force').notNull(),
    reason: text('reason').notNull(),
    askedBy: text('asked_by').notNull(),
    /** Refusals since it was told of last, that one too. */
    times: integer('times').notNull(),
    /** How many there were between the last two times it was told of. */
    unsaid: integer('unsaid').notNull().default(0),
    /** When it was told of last. */
    since: moment('since').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.machineId, t.kind, t.force, t.reason, t.askedBy] }),
    index('operation_refusal_since').on(t.since),
  ],
)

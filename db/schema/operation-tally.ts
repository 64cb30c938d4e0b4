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
  /** `completed`, `failed`, `canceled`, `superseded`, `refused`. */
  outcome: text('outcome').notNull(),
  reason: text('reason').notNull(),
  /** Until it began, or ended without having begun. */
  waitedSeconds: doublePrecision('waited_seconds').notNull().default(0),
  /** From its beginning to its end. */
  ranSeconds: doublePrecision('ran_seconds').notNull().default(0),
})

/** How often each end has come about since there is a ledger. Never counted down: what is pruned stays counted. */
export const operationTally = pgTable(
  'operation_tally',
  {
    kind: text('kind').notNull(),
    force: boolean('force').notNull(),
    outcome: text('outcome').notNull(),
    reason: text('reason').notNull(),
    times: bigint('times', { mode: 'number' }).notNull(),
    waitedSeconds: doublePrecision('waited_seconds').notNull(),
    ranSeconds: doublePrecision('ran_seconds').notNull(),
  },
  (t) => [primaryKey({ columns: [t.kind, t.force, t.outcome, t.reason] })],
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

import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  check,
  index,
  integer,
  jsonb,
  pgPolicy,
  pgTable,
  primaryKey,
  text,
  uuid,
} from 'drizzle-orm/pg-core'
import { bytea, moment, xid8 } from './columns.ts'

/** Every process of the fleet, by its own word, refreshed while it lives. */
export const worker = pgTable(
  'worker',
  {
    id: uuid('id').primaryKey(),
    role: text('role').notNull(),
    host: text('host').notNull(),
    pid: integer('pid').notNull(),
    version: text('version').notNull(),
    /** Highest payload version it can run, by kind. */
    kinds: jsonb('kinds').$type<Record<string, number>>().notNull(),
    /** How many it runs at once, by kind. */
    slots: jsonb('slots').$type<Record<string, number>>().notNull(),
    state: text('state').notNull().default('active'),
    startedAt: moment('started_at').notNull().defaultNow(),
    heartbeatAt: moment('heartbeat_at').notNull().defaultNow(),
    stoppedAt: moment('stopped_at'),
  },
  (t) => [
    index('worker_heartbeat').on(t.heartbeatAt).where(sql`${t.stoppedAt} is null`),
    check('worker_state', sql`${t.state} in ('active', 'draining', 'stopped', 'lost')`),
  ],
)

export type WorkerRow = typeof worker.$inferSelect

/** A limit that was set by a person; what is not here has its class's default (domain/job/token.ts). */
export const admissionLimit = pgTable('admission_limit', {
  name: text('name').primaryKey(),
  capacity: integer('capacity').notNull(),
  updatedBy: text('updated_by').notNull(),
  updatedAt: moment('updated_at').notNull().defaultNow(),
})

/** Who holds which token now. The rows are the count: nothing is counted in memory. */
export const tokenHold = pgTable(
  'token_hold',
  {
    token: text('token').notNull(),
    jobId: uuid('job_id').notNull(),
    epoch: bigint('epoch', { mode: 'number' }).notNull(),
    acquiredAt: moment('acquired_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.token, t.jobId] }), index('token_hold_job').on(t.jobId)],
)

/** A signal that was sent lately: a wait that begins after it was sent, but knew nothing of it, ends at once. */
export const signal = pgTable('signal', {
  name: text('name').primaryKey(),
  at: moment('at').notNull(),
  xid: xid8('xid').notNull().default(sql`pg_current_xact_id()`),
})

/** No new claims for a kind or a lane; what runs goes on. */
export const pause = pgTable(
  'pause',
  {
    scope: text('scope').notNull(),
    name: text('name').notNull(),
    reason: text('reason').notNull(),
    pausedBy: text('paused_by').notNull(),
    pausedAt: moment('paused_at').notNull().defaultNow(),
  },
  (t) => [
    primaryKey({ columns: [t.scope, t.name] }),
    check('pause_scope', sql`${t.scope} in ('kind', 'lane')`),
  ],
)

/** What is kept, sealed, of a sealing key that was replaced: enough to go on proving what it signed. */
export const formerKey = pgTable('former_key', {
  id: text('id').primaryKey(),
  sealed: bytea('sealed').notNull(),
  replacedAt: moment('replaced_at').notNull().defaultNow(),
})

/** The secret keys in use, each with a check value that it has sealed. `migrate` and `rekey` alone write it. */
export const sealingKey = pgTable('sealing_key', {
  id: text('id').primaryKey(),
  checkValue: bytea('check_value').notNull(),
  enteredAt: moment('entered_at').notNull().defaultNow(),
})

/** Which builds may work on this database; a migration raises it where earlier ones would do harm. */
export const schemaSupport = pgTable(
  'schema_support',
  {
    single: boolean('single').primaryKey().default(true),
    /** A build that has fewer migrations than this does not start. */
    migrationsMin: integer('migrations_min').notNull(),
  },
  (t) => [check('schema_support_only', sql`${t.single}`)],
)

/**
 * Facts that a login of a role may lock, and the fact that it may change. `secret-keys` is the list of keys of the version
 * before, whose processes insert it where it is missing, lock it, and compare their key with it.
 */
const lockedFacts = sql`name in ('bell-identity', 'secret-keys')`
const changedFacts = sql`name = 'bell-identity'`

/**
 * What the ledger knows about its surroundings. Readers of events go by `era` and ownership of machines by
 * `installation-id`: these and the cluster's identity are for `migrate` alone, which row security does not bind. The
 * installation's id may be inserted: processes of the version before do so, and find that it is there.
 */
export const ledgerFact = pgTable(
  'ledger_fact',
  {
    name: text('name').primaryKey(),
    value: text('value').notNull(),
    updatedAt: moment('updated_at').notNull().defaultNow(),
  },
  () => [
    pgPolicy('ledger_fact_read', { for: 'select', using: sql`true` }),
    pgPolicy('ledger_fact_add', {
      for: 'insert',
      withCheck: sql`name in ('bell-identity', 'secret-keys', 'installation-id')`,
    }),
    pgPolicy('ledger_fact_change', { for: 'update', using: lockedFacts, withCheck: changedFacts }),
  ],
)

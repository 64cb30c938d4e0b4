import { sql } from 'drizzle-orm'
import { bigint, check, index, integer, jsonb, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { moment, xid8 } from './columns.ts'

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

/** What the ledger knows about its surroundings: the bell store's identity, the cluster's. */
export const ledgerFact = pgTable('ledger_fact', {
  name: text('name').primaryKey(),
  value: text('value').notNull(),
  updatedAt: moment('updated_at').notNull().defaultNow(),
})

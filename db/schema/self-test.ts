import { bigint, integer, pgSchema, text, uuid } from 'drizzle-orm/pg-core'
import { moment } from './columns.ts'

/**
 * The self-test's outside world: reached over a connection of its own, never in a transaction of the ledger,
 * so that a crash between the two is a real one.
 */
export const selfTestWorld = pgSchema('self_test')

/** What exists outside. */
export const marker = selfTestWorld.table('marker', {
  name: text('name').primaryKey(),
  jobId: uuid('job_id').notNull(),
  createdAt: moment('created_at').notNull().defaultNow(),
})

/** Every call that was made, for the checkers. */
export const markerCall = selfTestWorld.table('call', {
  id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
  jobId: uuid('job_id').notNull(),
  name: text('name').notNull(),
  action: text('action').notNull(),
  epoch: bigint('epoch', { mode: 'number' }).notNull(),
  pid: integer('pid').notNull(),
  at: moment('at').notNull().defaultNow(),
})

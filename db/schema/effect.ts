import { sql } from 'drizzle-orm'
import { bigint, check, index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { moment } from './columns.ts'

/** One side effect outside Postgres. The row is committed before the call: intent before effect. */
export const effect = pgTable(
  'effect',
  {
    id: uuid('id').primaryKey(),
    jobId: uuid('job_id').notNull(),
    subjectType: text('subject_type').notNull(),
    subjectId: text('subject_id').notNull(),
    epoch: bigint('epoch', { mode: 'number' }).notNull(),
    kind: text('kind').notNull(),
    platform: text('platform').notNull(),
    name: text('name').notNull(),
    externalId: text('external_id'),
    /** What undoes it, as data for the undoer of this effect kind; null when there is nothing to undo. */
    undo: jsonb('undo').$type<Record<string, unknown>>(),
    state: text('state').notNull().default('intended'),
    error: jsonb('error').$type<Record<string, unknown>>(),
    attempts: integer('attempts').notNull().default(0),
    nextTryAt: moment('next_try_at'),
    waivedBy: text('waived_by'),
    waivedReason: text('waived_reason'),
    /** When it came about for the first time: stays when it is undone. */
    doneAt: moment('done_at'),
    createdAt: moment('created_at').notNull().defaultNow(),
    updatedAt: moment('updated_at').notNull().defaultNow(),
  },
  (t) => [
    uniqueIndex('effect_name').on(t.jobId, t.kind, t.name),
    index('effect_subject').on(t.subjectType, t.subjectId),
    // Nearly all effects end as done: what is asked for by its state is one of the others.
    index('effect_not_done').on(t.state, t.id).where(sql`${t.state} <> 'done'`),
    index('effect_debt').on(t.nextTryAt).where(sql`${t.state} = 'debt'`),
    check('effect_state', sql`${t.state} in ('intended', 'done', 'undone', 'debt', 'waived')`),
  ],
)

export type EffectRow = typeof effect.$inferSelect

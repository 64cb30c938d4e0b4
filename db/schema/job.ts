import { sql } from 'drizzle-orm'
import {
  bigint,
  check,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  smallint,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { moment, snapshot } from './columns.ts'

/**
 * One unit of work for a worker. This row is the truth; what the bell store holds is a hint.
 *
 * Every index here is paid for by each of the four writes of a job's life, so each serves a query that runs
 * all the time. `job_leased` hangs on `lease_until`, not on `state`, on purpose: see queries/finish-jobs.ts.
 */
export const job = pgTable(
  'job',
  {
    id: uuid('id').primaryKey(),
    kind: text('kind').notNull(),
    subjectType: text('subject_type').notNull(),
    subjectId: text('subject_id').notNull(),
    idempotencyKey: text('idempotency_key'),
    payload: jsonb('payload').$type<Record<string, unknown>>().notNull(),
    payloadVersion: smallint('payload_version').notNull(),
    state: text('state').notNull().default('ready'),
    /**
     * Where a ready job's bell stands. `held`: not due before `run_after`. `due`: the relay should ring. `rung`: a
     * bell is out. Kept as a column, because an index cannot ask the clock.
     */
    bell: text('bell').notNull().default('due'),
    priority: smallint('priority').notNull().default(0),
    lane: text('lane').notNull(),
    runAfter: moment('run_after').notNull().defaultNow(),
    deadline: moment('deadline'),
    publish: integer('publish').notNull().default(0),
    publishedAt: moment('published_at'),
    attempt: smallint('attempt').notNull().default(0),
    environmentAttempt: smallint('environment_attempt').notNull().default(0),
    lost: smallint('lost').notNull().default(0),
    generation: integer('generation').notNull().default(1),
    leaseEpoch: bigint('lease_epoch', { mode: 'number' }).notNull().default(0),
    leaseUntil: moment('lease_until'),
    workerId: uuid('worker_id'),
    tokens: text('tokens').array().notNull().default(sql`'{}'`),
    waitReason: text('wait_reason'),
    waitDetail: text('wait_detail'),
    waitSince: moment('wait_since'),
    waitUntil: moment('wait_until'),
    waitSignal: text('wait_signal'),
    cancelRequestedAt: moment('cancel_requested_at'),
    cancelRequestedBy: text('cancel_requested_by'),
    cancelReason: text('cancel_reason'),
    progress: jsonb('progress').$type<Record<string, unknown>>(),
    checkpoint: jsonb('checkpoint').$type<Record<string, unknown>>(),
    result: jsonb('result').$type<Record<string, unknown>>(),
    error: jsonb('error').$type<Record<string, unknown>>(),
    trace: text('trace'),
    createdBy: text('created_by').notNull(),
    createdAt: moment('created_at').notNull().defaultNow(),
    claimedAt: moment('claimed_at'),
    /** What the claim could see: a signal it could not see must end the wait that this run decides on. */
    claimedIn: snapshot('claimed_in'),
    startedAt: moment('started_at'),
    finishedAt: moment('finished_at'),
  },
  (t) => [
    uniqueIndex('job_idempotency_key').on(t.idempotencyKey).where(sql`${t.idempotencyKey} is not null`),
    index('job_due')
      .on(t.kind, t.lane, t.priority.desc(), t.id)
      .where(sql`${t.state} = 'ready' and ${t.bell} = 'due'`),
    index('job_held').on(t.runAfter).where(sql`${t.state} = 'ready' and ${t.bell} = 'held'`),
    index('job_rung').on(t.kind, t.lane).where(sql`${t.state} = 'ready' and ${t.bell} = 'rung'`),
    index('job_leased').on(t.leaseUntil).where(sql`${t.leaseUntil} is not null`),
    index('job_waiting').on(t.waitUntil).where(sql`${t.state} = 'waiting'`),
    index('job_wait_signal').on(t.waitSignal).where(sql`${t.state} = 'waiting'`),
    index('job_cancel')
      .on(t.workerId)
      .where(sql`${t.cancelRequestedAt} is not null and ${t.finishedAt} is null`),
    index('job_deadline').on(t.deadline).where(sql`${t.deadline} is not null and ${t.finishedAt} is null`),
    index('job_finished').on(t.finishedAt).where(sql`${t.finishedAt} is not null`),
    index('job_failed').on(t.id).where(sql`${t.state} = 'failed'`),
    index('job_canceled').on(t.id).where(sql`${t.state} = 'canceled'`),
    check('job_state', sql`${t.state} in ('ready', 'running', 'waiting', 'succeeded', 'failed', 'canceled')`),
    check('job_bell', sql`${t.bell} in ('held', 'due', 'rung')`),
    check('job_lease', sql`(${t.state} = 'running') = (${t.leaseUntil} is not null)`),
    check(
      'job_wait',
      sql`${t.state} <> 'waiting' or (${t.waitReason} is not null and ${t.waitSince} is not null and ${t.waitUntil} is not null)`,
    ),
    check(
      'job_end',
      sql`(${t.state} in ('succeeded', 'failed', 'canceled')) = (${t.finishedAt} is not null)`,
    ),
  ],
)

export type JobRow = typeof job.$inferSelect

/**
 * What a job is found by: written with it and never again. As indexes of `job` these three would grow with each of
 * the four writes of a job's life, which was a quarter of what Postgres did for it.
 */
export const jobSearch = pgTable(
  'job_search',
  {
    jobId: uuid('job_id').notNull(),
    kind: text('kind').notNull(),
    lane: text('lane').notNull(),
    subjectType: text('subject_type').notNull(),
    subjectId: text('subject_id').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.kind, t.jobId] }),
    index('job_search_lane').on(t.lane, t.jobId),
    index('job_search_subject').on(t.subjectType, t.subjectId, t.jobId),
  ],
)

import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  check,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import type { RecordedError } from '../../src/errors.ts'
import { bytea, moment } from './columns.ts'

/** Instances that are migrated together. */
export const batch = pgTable(
  'batch',
  {
    id: uuid('id').primaryKey(),
    name: text('name').notNull(),
    state: text('state').notNull().default('defined'),
    message: text('message').notNull().default(''),
    includeExpression: text('include_expression').notNull(),
    /** Placement, migration networks and `force_conflict_resolution`, under the API's names. */
    defaults: jsonb('defaults').$type<Record<string, unknown>>().notNull(),
    /** Script, intervals, limits, retries, restriction overrides, probes. */
    config: jsonb('config').$type<Record<string, unknown>>().notNull(),
    /** In order: the last that matches an instance counts. */
    constraints: jsonb('constraints').$type<readonly Record<string, unknown>[]>().notNull().default([]),
    requireApproval: boolean('require_approval').notNull().default(false),
    /** Who approved which plan, and when. */
    approval: jsonb('approval').$type<Record<string, unknown>>(),
    startedAt: moment('started_at'),
    finishedAt: moment('finished_at'),
    /** Counts every change of a person, for If-Match. */
    version: integer('version').notNull().default(1),
    createdBy: text('created_by').notNull(),
    createdAt: moment('created_at').notNull().defaultNow(),
    updatedAt: moment('updated_at').notNull().defaultNow(),
  },
  (t) => [
    uniqueIndex('batch_name').on(t.name),
    check('batch_state', sql`${t.state} in ('defined', 'running', 'stopped', 'finished', 'error')`),
  ],
)

export type BatchRow = typeof batch.$inferSelect

/**
 * Instances that matched when the batch was last saved: at its start those that no longer do are told apart from those
 * that never did.
 */
export const batchInstance = pgTable(
  'batch_instance',
  {
    batchId: uuid('batch_id').notNull(),
    instanceId: uuid('instance_id').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.batchId, t.instanceId] }),
    index('batch_instance_instance').on(t.instanceId),
  ],
)

/** When cutover may happen. Two batches' windows of one name are two windows. */
export const batchWindow = pgTable(
  'batch_window',
  {
    id: uuid('id').primaryKey(),
    batchId: uuid('batch_id').notNull(),
    name: text('name').notNull(),
    /** Null: open already, without an end, without a lockout. */
    startsAt: moment('starts_at'),
    endsAt: moment('ends_at'),
    lockoutAt: moment('lockout_at'),
    /** 0: as many as come. */
    capacity: integer('capacity').notNull().default(0),
  },
  (t) => [
    uniqueIndex('batch_window_name').on(t.batchId, t.name),
    check(
      'batch_window_order',
      sql`${t.endsAt} is null or ${t.startsAt} is null or ${t.endsAt} >= ${t.startsAt}`,
    ),
    check('batch_window_capacity', sql`${t.capacity} >= 0`),
  ],
)

export type WindowRow = typeof batchWindow.$inferSelect

/** One instance's journey in one batch: `/queue` in the API. Its states: src/domain/migration/entry/entry-table.ts. */
export const entry = pgTable(
  'entry',
  {
    id: uuid('id').primaryKey(),
    batchId: uuid('batch_id').notNull(),
    instanceId: uuid('instance_id').notNull(),
    sourceId: uuid('source_id').notNull(),
    targetId: uuid('target_id'),
    state: text('state').notNull(),
    stage: text('stage').notNull().default('background'),
    /** Why it is where it is: a code for programs, a sentence for people, all reasons where there are several. */
    reason: text('reason').notNull(),
    message: text('message').notNull(),
    reasons: jsonb('reasons').$type<readonly Record<string, unknown>[]>().notNull().default([]),
    error: jsonb('error').$type<RecordedError>(),
    since: moment('since').notNull().defaultNow(),
    /** Every wait has an end: by then somebody looks again. */
    lookAt: moment('look_at').notNull().defaultNow(),
    /** The job that is at it now; nobody else may change it meanwhile but a person's verb. */
    jobId: uuid('job_id'),
    /** Grows with every change: what a job, a verb or the scheduler has read is compared with it. */
    version: bigint('version', { mode: 'number' }).notNull().default(1),
    /** The inventory's revision that its plan was made on. */
    revision: bigint('revision', { mode: 'number' }).notNull(),
    /** The record as it was taken, and where it lands: committed. */
    facts: jsonb('facts').$type<Record<string, unknown>>().notNull(),
    placement: jsonb('placement').$type<Record<string, unknown>>(),
    /** What changed since and waits for a person: never mixed with the above. */
    pending: jsonb('pending').$type<Record<string, unknown>>(),
    /** Whether the target runs at the end. */
    running: boolean('running').notNull(),
    /** The machine of ours on the target. */
    machineRef: text('machine_ref'),
    /** When we asked the source to switch off, and whether it is ours to switch on again. */
    sourceStoppedAt: moment('source_stopped_at'),
    /** When it was seen off after that. */
    sourceOffAt: moment('source_off_at'),
    /** Until when its guest may take to shut down; then its plug is pulled, or the wait is given up. */
    guestUntil: moment('guest_until'),
    windowId: uuid('window_id'),
    /** Of the constraint that counts it among the busy, from the cutover on. */
    constraintName: text('constraint_name'),
    syncedAt: moment('synced_at'),
    /** Tries to verify or start the target since it was last complete. */
    retries: integer('retries').notNull().default(0),
    /** How often in a row it failed to get away from where it is. */
    tries: integer('tries').notNull().default(0),
    /** What a person wants of it while a job is still at it: see decide-entry.ts. */
    intent: jsonb('intent').$type<Record<string, unknown>>(),
    /** Let through although it no longer matches: once. */
    resolved: boolean('resolved').notNull().default(false),
    force: boolean('force').notNull().default(false),
    progress: jsonb('progress').$type<Record<string, unknown>>(),
    baseline: jsonb('baseline').$type<Record<string, unknown>>(),
    certificateId: uuid('certificate_id'),
    createdAt: moment('created_at').notNull().defaultNow(),
    updatedAt: moment('updated_at').notNull().defaultNow(),
    finishedAt: moment('finished_at'),
  },
  (t) => [
    // The first batch to start owns the instance.
    uniqueIndex('entry_instance').on(t.instanceId),
    index('entry_batch').on(t.batchId, t.state, t.id),
    index('entry_look')
      .on(t.lookAt)
      .where(
        sql`${t.state} not in ('finished', 'error', 'canceled') or ${t.intent} is not null
          or (${t.state} <> 'finished' and (${t.jobId} is not null or ${t.sourceStoppedAt} is not null))`,
      ),
    index('entry_job').on(t.jobId).where(sql`${t.jobId} is not null`),
    index('entry_window').on(t.windowId).where(sql`${t.windowId} is not null`),
    // Sources that are off on our account: few, and asked for on every first page.
    index('entry_down')
      .on(t.sourceStoppedAt)
      .where(sql`${t.sourceStoppedAt} is not null and ${t.state} <> 'finished'`),
    // Whose a machine of a target is.
    index('entry_machine').on(t.targetId, t.machineRef).where(sql`${t.machineRef} is not null`),
    check(
      'entry_state',
      sql`${t.state} in ('blocked', 'waiting', 'creating', 'background-import', 'idle', 'final-import', 'post-import',
        'worker-done', 'finished', 'error', 'canceled', 'conflict')`,
    ),
    check('entry_stage', sql`${t.stage} in ('background', 'final', 'complete')`),
  ],
)

export type EntryRow = typeof entry.$inferSelect

/** One disk of an entry: where the next copy of changes goes on. Kept outside the worker, so none restarts it. */
export const entryDisk = pgTable(
  'entry_disk',
  {
    entryId: uuid('entry_id').notNull(),
    disk: text('disk').notNull(),
    targetDisk: text('target_disk').notNull(),
    capacity: bigint('capacity', { mode: 'number' }).notNull(),
    /** The tracking position up to which the copy is whole; null: nothing is. */
    changeId: text('change_id'),
    /** Of the copy that is under way: its snapshot's position, what it has to send and what is sent. */
    cycle: jsonb('cycle').$type<Record<string, unknown>>(),
  },
  (t) => [primaryKey({ columns: [t.entryId, t.disk] })],
)

/** What was read and written, extent by extent: resumes a copy, and is the evidence in the certificate. */
export const entryExtent = pgTable(
  'entry_extent',
  {
    entryId: uuid('entry_id').notNull(),
    disk: text('disk').notNull(),
    /** Number of the extent: its offset divided by the extent size. */
    at: integer('at').notNull(),
    /** SHA-256 of the source's bytes as they were written. */
    digest: bytea('digest').notNull(),
    cycle: integer('cycle').notNull(),
  },
  (t) => [primaryKey({ columns: [t.entryId, t.disk, t.at] })],
)

/** The evidence of final-verify, signed. Stays when its entry is gone. */
export const certificate = pgTable(
  'certificate',
  {
    id: uuid('id').primaryKey(),
    entryId: uuid('entry_id').notNull(),
    instanceId: uuid('instance_id').notNull(),
    batchName: text('batch_name').notNull(),
    instanceName: text('instance_name').notNull(),
    document: jsonb('document').$type<Record<string, unknown>>().notNull(),
    signature: bytea('signature').notNull(),
    keyId: text('key_id').notNull(),
    createdAt: moment('created_at').notNull().defaultNow(),
  },
  (t) => [
    index('certificate_instance').on(t.instanceId, t.createdAt),
    // A source or target that was removed and added again has other ids; what was certified keeps its names.
    index('certificate_uuid').on(sql`(${t.document} -> 'instance' ->> 'uuid')`),
    index('certificate_machine').on(sql`(${t.document} -> 'target' ->> 'machine')`),
  ],
)

/** Keys that sign certificates; the private half is sealed. */
export const signingKey = pgTable('signing_key', {
  id: text('id').primaryKey(),
  publicKey: bytea('public_key').notNull(),
  /** Sealed. Gone with its retirement: nobody signs with it again. */
  privateKey: bytea('private_key'),
  createdAt: moment('created_at').notNull().defaultNow(),
  retiredAt: moment('retired_at'),
  /** The key before it, and that key's signature that this one follows it. */
  follows: text('follows'),
  vouched: bytea('vouched'),
})

/** What the planner said of a batch, kept so that an approval and a diff have something to point at. */
export const batchPlan = pgTable(
  'batch_plan',
  {
    id: uuid('id').primaryKey(),
    batchId: uuid('batch_id').notNull(),
    document: jsonb('document').$type<Record<string, unknown>>().notNull(),
    digest: text('digest').notNull(),
    createdBy: text('created_by').notNull(),
    createdAt: moment('created_at').notNull().defaultNow(),
  },
  (t) => [index('batch_plan_batch').on(t.batchId, t.createdAt)],
)

/** How long the parts of ended journeys took: what predictions are made of. */
export const entryHistory = pgTable(
  'entry_history',
  {
    id: uuid('id').primaryKey(),
    sourceId: uuid('source_id').notNull(),
    targetId: uuid('target_id').notNull(),
    phase: text('phase').notNull(),
    bytes: bigint('bytes', { mode: 'number' }).notNull(),
    tookMs: bigint('took_ms', { mode: 'number' }).notNull(),
    at: moment('at').notNull().defaultNow(),
  },
  (t) => [index('entry_history_pair').on(t.sourceId, t.targetId, t.phase, t.at)],
)

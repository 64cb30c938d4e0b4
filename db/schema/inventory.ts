import { sql } from 'drizzle-orm'
import {
  bigint,
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
import type {
  HostFacts,
  InstanceFacts,
  NetworkFacts,
  ProjectFacts,
  StorageFacts,
} from '../../src/domain/inventory/facts.ts'
import type { Pending } from '../../src/domain/inventory/merge.ts'
import type { TrackingRecord } from '../../src/domain/inventory/tracking.ts'
import type { RecordedError } from '../../src/errors.ts'
import { bytea, moment } from './columns.ts'

/** A place that has VMs or takes them: what the API calls a source or a target. */
export const site = pgTable(
  'site',
  {
    id: uuid('id').primaryKey(),
    role: text('role').notNull(),
    name: text('name').notNull(),
    kind: text('kind').notNull(),
    endpoint: text('endpoint').notNull(),
    username: text('username').notNull(),
    /** The password, sealed (src/seal/seal.ts); null: none was given. */
    secret: bytea('secret'),
    ca: text('ca').notNull().default(''),
    /** Pinned by a person. */
    fingerprint: text('fingerprint').notNull().default(''),
    /** What answered instead, for a person to confirm: fingerprint, subject, issuer, validity. */
    seenCertificate: jsonb('seen_certificate').$type<Record<string, string>>(),
    /** Limits, intervals and scopes under the API's names. */
    settings: jsonb('settings').$type<Record<string, unknown>>().notNull(),
    connectivity: text('connectivity').notNull().default('unknown'),
    connectivityError: jsonb('connectivity_error').$type<RecordedError>(),
    connectivitySince: moment('connectivity_since').notNull().defaultNow(),
    checkedAt: moment('checked_at'),
    nextCheckAt: moment('next_check_at').notNull().defaultNow(),
    /** Who answered: product, version, instance id. */
    identity: jsonb('identity').$type<Record<string, string>>(),
    capabilities: text('capabilities').array().notNull().default(sql`'{}'`),
    /** Goes up by one with every sync that changed something: what a plan pins. */
    revision: bigint('revision', { mode: 'number' }).notNull().default(0),
    /** Where a delta goes on, sealed: it may hold a session. Null: the next sync is full. */
    cursor: bytea('cursor'),
    syncJobId: uuid('sync_job_id'),
    syncedAt: moment('synced_at'),
    fullSyncedAt: moment('full_synced_at'),
    nextSyncAt: moment('next_sync_at').notNull().defaultNow(),
    syncError: jsonb('sync_error').$type<RecordedError>(),
    /** In a row: each makes the pause to the next try longer. */
    syncFailures: integer('sync_failures').notNull().default(0),
    /** What the last sync saw and changed. */
    syncResult: jsonb('sync_result').$type<Record<string, unknown>>(),
    /** For If-Match: changes of a person count it up, syncs do not. */
    version: integer('version').notNull().default(1),
    createdBy: text('created_by').notNull(),
    createdAt: moment('created_at').notNull().defaultNow(),
    updatedAt: moment('updated_at').notNull().defaultNow(),
  },
  (t) => [
    uniqueIndex('site_name').on(t.role, t.name),
    index('site_next_sync').on(t.nextSyncAt),
    index('site_next_check').on(t.nextCheckAt),
    check('site_role', sql`${t.role} in ('source', 'target')`),
    check(
      'site_connectivity',
      sql`${t.connectivity} in ('unknown', 'ok', 'cannot-connect', 'tls-error', 'confirm-fingerprint',
        'authentication-error')`,
    ),
  ],
)

export type SiteRow = typeof site.$inferSelect

/** Columns of everything that a sync reads: what it is, when it last changed, since when it is gone. */
const synced = () => ({
  id: uuid('id').primaryKey(),
  siteId: uuid('site_id').notNull(),
  /** The platform's id. */
  ref: text('ref').notNull(),
  name: text('name').notNull(),
  /** Of the facts: what did not change is not written again. */
  hash: text('hash').notNull(),
  /** The site's revision that changed it last. */
  revision: bigint('revision', { mode: 'number' }).notNull(),
  firstSeenAt: moment('first_seen_at').notNull().defaultNow(),
  changedAt: moment('changed_at').notNull().defaultNow(),
  /** A tombstone: it was not there any more. */
  goneAt: moment('gone_at'),
})

/** One VM of a source. */
export const instance = pgTable(
  'instance',
  {
    ...synced(),
    uuid: text('uuid').notNull(),
    location: text('location').notNull(),
    facts: jsonb('facts').$type<InstanceFacts>().notNull(),
    /** Derived from the facts, without overrides. */
    osType: text('os_type').notNull(),
    distribution: text('distribution').notNull(),
    distributionVersion: text('distribution_version').notNull(),
    overrides: jsonb('overrides').$type<Record<string, unknown>>().notNull().default({}),
    /** Of the overrides, for If-Match. */
    version: integer('version').notNull().default(1),
    /** Per disk key: what a look at the platform has shown of its tracking; see `trackingState`. */
    tracking: jsonb('tracking').$type<TrackingRecord>().notNull().default({}),
    /** Set while a running batch holds it: what changes is kept apart below, and the record stays. */
    frozenBy: text('frozen_by'),
    pending: jsonb('pending').$type<Pending>(),
    pendingSince: moment('pending_since'),
    /** Why it is left out, as a word: `template`, `duplicate-uuid`. Null: it counts. */
    ignored: text('ignored'),
    /** The same as a sentence. */
    ignoredDetail: text('ignored_detail'),
    /** Why its last reading failed, while it does. */
    problem: jsonb('problem').$type<RecordedError>(),
    /** What its facts lost when they were made storable, as sentences. */
    notes: jsonb('notes').$type<readonly string[]>().notNull().default([]),
    readiness: text('readiness').notNull().default('ready'),
    /** Of the rules it was judged by last; empty: not yet. */
    rulesVersion: text('rules_version').notNull().default(''),
  },
  (t) => [
    uniqueIndex('instance_ref').on(t.siteId, t.ref).where(sql`${t.goneAt} is null`),
    index('instance_uuid').on(t.uuid),
    index('instance_place').on(t.siteId, t.location, t.id),
    index('instance_changed').on(t.siteId, t.revision),
    // Gone or alive, by its id: how a sync finds the record of what it sees.
    index('instance_site_ref').on(t.siteId, t.ref),
    index('instance_rules').on(t.rulesVersion).where(sql`${t.goneAt} is null`),
    index('instance_attention')
      .on(t.siteId)
      .where(sql`${t.ignored} is not null or ${t.problem} is not null or ${t.notes} <> '[]'::jsonb`),
    check('instance_readiness', sql`${t.readiness} in ('ready', 'warning', 'blocked')`),
  ],
)

export type InstanceRow = typeof instance.$inferSelect

/** A network of a source or a target; a source's can be mapped by hand. */
export const network = pgTable(
  'network',
  {
    ...synced(),
    location: text('location').notNull(),
    facts: jsonb('facts').$type<NetworkFacts>().notNull(),
    overrides: jsonb('overrides').$type<Record<string, unknown>>().notNull().default({}),
    version: integer('version').notNull().default(1),
  },
  (t) => [
    uniqueIndex('network_ref').on(t.siteId, t.ref).where(sql`${t.goneAt} is null`),
    index('network_place').on(t.siteId, t.location, t.id),
  ],
)

export type NetworkRow = typeof network.$inferSelect

export const host = pgTable(
  'host',
  { ...synced(), facts: jsonb('facts').$type<HostFacts>().notNull() },
  (t) => [
    uniqueIndex('host_ref').on(t.siteId, t.ref).where(sql`${t.goneAt} is null`),
    index('host_name').on(t.siteId, t.name, t.id),
  ],
)

export type HostRow = typeof host.$inferSelect

export const storage = pgTable(
  'storage',
  { ...synced(), facts: jsonb('facts').$type<StorageFacts>().notNull() },
  (t) => [uniqueIndex('storage_ref').on(t.siteId, t.ref).where(sql`${t.goneAt} is null`)],
)

export const project = pgTable(
  'project',
  { ...synced(), facts: jsonb('facts').$type<ProjectFacts>().notNull() },
  (t) => [uniqueIndex('project_ref').on(t.siteId, t.ref).where(sql`${t.goneAt} is null`)],
)

/**
 * What a running sync has read and nobody may see yet: one transaction at the end makes it the inventory. A row is
 * one thing, decided on while the platform still streams: what it becomes if its record is still what it was.
 */
export const inventoryStage = pgTable(
  'inventory_stage',
  {
    jobId: uuid('job_id').notNull(),
    epoch: bigint('epoch', { mode: 'number' }).notNull(),
    kind: text('kind').notNull(),
    ref: text('ref').notNull(),
    /** `seen`: as it is recorded. `gone`, `problem`, or the action of a decision. */
    action: text('action').notNull(),
    /** The record it belongs to; a new id for an insert. Null: there is none. */
    recordId: uuid('record_id'),
    /** The version of the record that was decided on; null where there was none. */
    base: text('base'),
    hash: text('hash'),
    name: text('name').notNull(),
    facts: jsonb('facts'),
    /** Everything else that the record gets, by column. */
    more: jsonb('more').$type<Record<string, unknown>>(),
  },
  (t) => [
    primaryKey({ columns: [t.jobId, t.epoch, t.kind, t.ref] }),
    check('inventory_stage_kind', sql`${t.kind} in ('instance', 'network', 'host', 'storage', 'project')`),
    check(
      'inventory_stage_action',
      sql`${t.action} in ('seen', 'gone', 'problem', 'insert', 'update', 'return', 'pend', 'settle')`,
    ),
  ],
)

/** Something a person should know, said once and counted: repeats merge, and what heals goes by itself. */
export const warning = pgTable(
  'warning',
  {
    id: uuid('id').primaryKey(),
    type: text('type').notNull(),
    entityType: text('entity_type').notNull(),
    entityId: text('entity_id').notNull(),
    entityName: text('entity_name').notNull(),
    status: text('status').notNull().default('new'),
    messages: jsonb('messages')
      .$type<readonly { text: string; first_seen_at: string; last_seen_at: string }[]>()
      .notNull(),
    count: integer('count').notNull().default(1),
    firstSeenAt: moment('first_seen_at').notNull().defaultNow(),
    lastSeenAt: moment('last_seen_at').notNull().defaultNow(),
    acknowledgedBy: text('acknowledged_by'),
    acknowledgedAt: moment('acknowledged_at'),
  },
  (t) => [
    uniqueIndex('warning_place').on(t.type, t.entityType, t.entityId),
    index('warning_latest').on(t.lastSeenAt),
    check('warning_status', sql`${t.status} in ('new', 'acknowledged')`),
  ],
)

export type WarningRow = typeof warning.$inferSelect

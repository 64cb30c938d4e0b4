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
import type {
  ImageFacts,
  ImageSource,
  ImageState,
  ReplicaState,
  Verification,
} from '../../src/domain/template/image.ts'
import type { TemplateState } from '../../src/domain/template/state.ts'
import type { VersionCause, VersionState } from '../../src/domain/template/version.ts'
import type { RecordedError } from '../../src/errors.ts'
import { moment } from './columns.ts'

/** The content of an OVA. It never changes; a removed image stays as a tombstone, so that its id is never used again. */
export const image = pgTable(
  'image',
  {
    id: uuid('id').primaryKey(),
    name: text('name').notNull(),
    source: jsonb('source').$type<ImageSource>().notNull(),
    /** SHA-256 of the whole archive, as a person gave it; null: not given. */
    expectedDigest: text('expected_digest'),
    /** The same as it was read; null: not read to the end yet. */
    digest: text('digest'),
    sizeBytes: bigint('size_bytes', { mode: 'number' }),
    /** Null: not read to the end yet. */
    verified: text('verified').$type<Verification>(),
    requireManifest: boolean('require_manifest').notNull().default(false),
    state: text('state').$type<ImageState>().notNull().default('importing'),
    facts: jsonb('facts').$type<ImageFacts>(),
    /** The descriptor, for platforms that read it themselves. */
    ovf: text('ovf'),
    error: jsonb('error').$type<RecordedError>(),
    /** The job that imports it, or that imported it. */
    jobId: uuid('job_id'),
    /** For If-Match. */
    version: integer('version').notNull().default(1),
    createdBy: text('created_by').notNull(),
    createdAt: moment('created_at').notNull().defaultNow(),
    deletedAt: moment('deleted_at'),
  },
  (t) => [
    uniqueIndex('image_name').on(t.name).where(sql`${t.deletedAt} is null`),
    index('image_digest').on(t.digest).where(sql`${t.digest} is not null`),
    check('image_state', sql`${t.state} in ('importing', 'ready', 'failed', 'deleted')`),
    check('image_deleted', sql`(${t.state} = 'deleted') = (${t.deletedAt} is not null)`),
    check('image_ready', sql`${t.state} <> 'ready' or (${t.digest} is not null and ${t.facts} is not null)`),
    check(
      'image_digests',
      sql`coalesce(${t.digest}, '') ~ '^([0-9a-f]{64})?$' and coalesce(${t.expectedDigest}, '') ~ '^([0-9a-f]{64})?$'`,
    ),
    check('image_verified', sql`${t.verified} in ('signature', 'manifest', 'none')`),
  ],
)

export type ImageRow = typeof image.$inferSelect

/** An object on a platform that holds an image. What it holds never changes; its name there tells its role. */
export const imageReplica = pgTable(
  'image_replica',
  {
    id: uuid('id').primaryKey(),
    imageId: uuid('image_id').notNull(),
    targetId: uuid('target_id').notNull(),
    folder: text('folder').notNull().default(''),
    project: text('project').notNull().default(''),
    pool: text('pool').notNull().default(''),
    host: text('host').notNull().default(''),
    network: text('network').notNull().default(''),
    /** The platform's id; null: not known yet. */
    ref: text('ref'),
    state: text('state').$type<ReplicaState>().notNull().default('importing'),
    /** The template that has it under a name of its own; null: it is on the shelf. */
    templateId: uuid('template_id'),
    createdAt: moment('created_at').notNull().defaultNow(),
    goneAt: moment('gone_at'),
  },
  (t) => [
    index('image_replica_image').on(t.imageId),
    index('image_replica_template').on(t.templateId).where(sql`${t.templateId} is not null`),
    // On the shelf an image has a name of its own, one in a folder.
    uniqueIndex('image_replica_shelf')
      .on(t.imageId, t.targetId, t.folder)
      .where(sql`${t.templateId} is null and ${t.state} = 'ready'`),
    uniqueIndex('image_replica_ref')
      .on(t.targetId, t.ref)
      .where(sql`${t.ref} is not null and ${t.state} <> 'gone'`),
    check('image_replica_state', sql`${t.state} in ('importing', 'ready', 'removing', 'gone')`),
    check('image_replica_gone', sql`(${t.state} = 'gone') = (${t.goneAt} is not null)`),
    check('image_replica_ready', sql`${t.state} <> 'ready' or ${t.ref} is not null`),
  ],
)

export type ImageReplicaRow = typeof imageReplica.$inferSelect

/** A name that machines are cloned from, on one target. Its row is its lock. */
export const template = pgTable(
  'template',
  {
    id: uuid('id').primaryKey(),
    name: text('name').notNull(),
    targetId: uuid('target_id').notNull(),
    folder: text('folder').notNull().default(''),
    /** Its name on the platform. */
    production: text('production').notNull(),
    project: text('project').notNull().default(''),
    pool: text('pool').notNull().default(''),
    host: text('host').notNull().default(''),
    network: text('network').notNull().default(''),
    /** The image that is wanted under the name. */
    imageId: uuid('image_id').notNull(),
    /** Null: none has been live yet. */
    versionLive: integer('version_live'),
    versionWanted: integer('version_wanted').notNull(),
    /** How many versions that were live stay on the shelf. */
    keepVersions: integer('keep_versions').notNull().default(2),
    /** How long a version that was live stays untouched before it is destroyed. */
    graceSeconds: integer('grace_seconds').notNull().default(600),
    allowDowngrade: boolean('allow_downgrade').notNull().default(false),
    state: text('state').$type<TemplateState>().notNull(),
    /** Why it is where it is: a code for programs, a sentence for people. */
    reason: text('reason').notNull(),
    message: text('message').notNull(),
    error: jsonb('error').$type<RecordedError>(),
    /** The newest job that was sent for it. */
    jobId: uuid('job_id'),
    /** For If-Match: changes of a person count it up. */
    version: integer('version').notNull().default(1),
    createdBy: text('created_by').notNull(),
    createdAt: moment('created_at').notNull().defaultNow(),
    updatedAt: moment('updated_at').notNull().defaultNow(),
    /** It was forgotten. */
    deletedAt: moment('deleted_at'),
  },
  (t) => [
    uniqueIndex('template_name').on(t.name).where(sql`${t.deletedAt} is null`),
    uniqueIndex('template_place').on(t.targetId, t.folder, t.production).where(sql`${t.deletedAt} is null`),
    index('template_image').on(t.imageId).where(sql`${t.deletedAt} is null`),
    index('template_job').on(t.jobId).where(sql`${t.jobId} is not null`),
    check('template_state', sql`${t.state} in ('absent', 'swapping', 'live', 'conflict')`),
    check('template_production', sql`char_length(${t.production}) between 1 and 80`),
    check(
      'template_settings',
      sql`${t.keepVersions} between 0 and 20 and ${t.graceSeconds} between 0 and 604800`,
    ),
  ],
)

export type TemplateRow = typeof template.$inferSelect

/** What a template was made to point at, and when. Numbers count up, and none is used again. */
export const templateVersion = pgTable(
  'template_version',
  {
    templateId: uuid('template_id').notNull(),
    number: integer('number').notNull(),
    imageId: uuid('image_id').notNull(),
    /** The object that holds it, or held it; null: there was none. */
    replicaId: uuid('replica_id'),
    state: text('state').$type<VersionState>().notNull().default('wanted'),
    cause: text('cause').$type<VersionCause>().notNull(),
    by: text('by').notNull(),
    askedAt: moment('asked_at').notNull().defaultNow(),
    liveAt: moment('live_at'),
    retiredAt: moment('retired_at'),
    /** From the first step of its swap to the last. */
    swapMs: bigint('swap_ms', { mode: 'number' }),
    /** For how long the name pointed at nothing. */
    gapMs: bigint('gap_ms', { mode: 'number' }),
    /** Why it was withdrawn, when its swap had failed; null: a newer version took its place before. */
    error: jsonb('error').$type<RecordedError>(),
  },
  (t) => [
    primaryKey({ columns: [t.templateId, t.number] }),
    index('template_version_image').on(t.imageId),
    uniqueIndex('template_version_live').on(t.templateId).where(sql`${t.state} = 'live'`),
    uniqueIndex('template_version_wanted').on(t.templateId).where(sql`${t.state} = 'wanted'`),
    check('template_version_state', sql`${t.state} in ('wanted', 'live', 'kept', 'gone', 'withdrawn')`),
    check('template_version_cause', sql`${t.cause} in ('create', 'update', 'rollback')`),
    check('template_version_number', sql`${t.number} > 0`),
  ],
)

export type TemplateVersionRow = typeof templateVersion.$inferSelect

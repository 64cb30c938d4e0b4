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
import { bytea, moment, xid8 } from './columns.ts'

/** A bearer token. Only its SHA-256 is kept: the secret is random and long, so a slow hash would add nothing. */
export const accessToken = pgTable(
  'access_token',
  {
    id: uuid('id').primaryKey(),
    name: text('name').notNull(),
    role: text('role').notNull(),
    hash: bytea('hash').notNull(),
    /** The first characters, so that a person can tell tokens apart. */
    hint: text('hint').notNull(),
    createdBy: text('created_by').notNull(),
    createdAt: moment('created_at').notNull().defaultNow(),
    expiresAt: moment('expires_at'),
    lastUsedAt: moment('last_used_at'),
    revokedAt: moment('revoked_at'),
  },
  (t) => [
    uniqueIndex('access_token_hash').on(t.hash),
    uniqueIndex('access_token_name').on(t.name).where(sql`${t.revokedAt} is null`),
    check('access_token_role', sql`${t.role} in ('viewer', 'operator', 'admin')`),
  ],
)

/** A session that somebody has signed out of, for as long as its cookie would still be good. */
export const endedSession = pgTable(
  'ended_session',
  {
    /** SHA-256 of what the cookie says, without its signature. */
    id: bytea('id').primaryKey(),
    tokenId: uuid('token_id').notNull(),
    expiresAt: moment('expires_at').notNull(),
    endedAt: moment('ended_at').notNull().defaultNow(),
  },
  (t) => [index('ended_session_expires').on(t.expiresAt)],
)

/** A setting that a person changed; what is not here has its default in code. */
export const setting = pgTable('setting', {
  name: text('name').primaryKey(),
  value: jsonb('value').$type<unknown>().notNull(),
  version: integer('version').notNull().default(1),
  updatedBy: text('updated_by').notNull(),
  updatedAt: moment('updated_at').notNull().defaultNow(),
})

/** Where events are sent. The cursor is the last event that was delivered or is not wanted. */
export const webhook = pgTable(
  'webhook',
  {
    id: uuid('id').primaryKey(),
    name: text('name').notNull(),
    /** Its origin alone: path and query are often the secret. */
    url: text('url').notNull(),
    /** Null in a row of the version before, until `migrate` has sealed it. */
    sealedUrl: bytea('sealed_url'),
    secret: bytea('secret').notNull(),
    /** Event types, exact or with a trailing `*`; empty means all. */
    types: text('types').array().notNull().default(sql`'{}'`),
    state: text('state').notNull().default('active'),
    version: integer('version').notNull().default(1),
    cursorEra: smallint('cursor_era').notNull(),
    cursorXid: xid8('cursor_xid').notNull(),
    cursorId: bigint('cursor_id', { mode: 'number' }).notNull(),
    failures: integer('failures').notNull().default(0),
    nextTryAt: moment('next_try_at').notNull().defaultNow(),
    lastError: text('last_error'),
    lastDeliveredAt: moment('last_delivered_at'),
    createdBy: text('created_by').notNull(),
    createdAt: moment('created_at').notNull().defaultNow(),
    updatedAt: moment('updated_at').notNull().defaultNow(),
  },
  (t) => [
    uniqueIndex('webhook_name').on(t.name),
    check('webhook_state', sql`${t.state} in ('active', 'paused')`),
  ],
)

/** The answer that was given to a POST with an Idempotency-Key, given again when the POST is sent again. */
export const apiRequest = pgTable(
  'api_request',
  {
    actor: text('actor').notNull(),
    key: text('key').notNull(),
    digest: bytea('digest').notNull(),
    status: smallint('status'),
    headers: jsonb('headers').$type<Record<string, string>>(),
    body: text('body'),
    createdAt: moment('created_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.actor, t.key] }), index('api_request_created').on(t.createdAt)],
)

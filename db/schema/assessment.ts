import { sql } from 'drizzle-orm'
import {
  boolean,
  check,
  index,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { moment } from './columns.ts'

/** What must be unique over the whole fleet, so that a clash is found by one look. */
export const instanceIdentity = pgTable(
  'instance_identity',
  {
    kind: text('kind').notNull(),
    value: text('value').notNull(),
    instanceId: uuid('instance_id').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.kind, t.value, t.instanceId] }),
    index('instance_identity_instance').on(t.instanceId),
    check('instance_identity_kind', sql`${t.kind} in ('uuid', 'mac', 'address', 'name')`),
  ],
)

/** A rule that an instance breaks now. */
export const finding = pgTable(
  'finding',
  {
    instanceId: uuid('instance_id').notNull(),
    rule: text('rule').notNull(),
    severity: text('severity').notNull(),
    evidence: jsonb('evidence').$type<readonly string[]>().notNull(),
    waived: boolean('waived').notNull().default(false),
    since: moment('since').notNull().defaultNow(),
  },
  (t) => [
    primaryKey({ columns: [t.instanceId, t.rule] }),
    index('finding_rule').on(t.rule, t.instanceId),
    index('finding_waived').on(t.instanceId).where(sql`${t.waived}`),
    check('finding_severity', sql`${t.severity} in ('critical', 'warning', 'info')`),
  ],
)

/** A person takes the responsibility for a rule that is broken: on one instance, or everywhere. */
export const waiver = pgTable(
  'waiver',
  {
    id: uuid('id').primaryKey(),
    rule: text('rule').notNull(),
    /** Null: the whole fleet. */
    instanceId: uuid('instance_id'),
    reason: text('reason').notNull(),
    until: moment('until'),
    createdBy: text('created_by').notNull(),
    createdAt: moment('created_at').notNull().defaultNow(),
  },
  (t) => [
    uniqueIndex('waiver_place').on(
      t.rule,
      sql`coalesce(${t.instanceId}, '00000000-0000-0000-0000-000000000000'::uuid)`,
    ),
    index('waiver_instance').on(t.instanceId),
    index('waiver_until').on(t.until).where(sql`${t.until} is not null`),
  ],
)

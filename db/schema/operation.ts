import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  check,
  index,
  integer,
  jsonb,
  pgTable,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import type { ConflictRule } from '../../src/domain/operation/admission/admit.ts'
import type { RunPolicy } from '../../src/domain/operation/kinds/applicability.ts'
import type { OperationCause, OperationKind } from '../../src/domain/operation/kinds/kinds.ts'
import type { MachineOrigin } from '../../src/domain/operation/kinds/origin.ts'
import type { MachineSeen } from '../../src/domain/operation/kinds/phase.ts'
import type { OperationReason } from '../../src/domain/operation/kinds/reasons.ts'
import type { OperationState } from '../../src/domain/operation/kinds/state.ts'
import type { RecordedError } from '../../src/errors.ts'
import { moment } from './columns.ts'

/** A VM on a target that is operated on. Its row is its lock: whoever asks anything of the machine holds it first. */
export const machine = pgTable(
  'machine',
  {
    id: uuid('id').primaryKey(),
    targetId: uuid('target_id').notNull(),
    /** The platform's id. */
    ref: text('ref').notNull(),
    name: text('name').notNull(),
    uuid: text('uuid').notNull(),
    project: text('project').notNull(),
    host: text('host').notNull(),
    /** As it was seen last: `on`, `off`, `suspended`, `unknown`. */
    power: text('power').$type<MachineSeen['power']>().notNull(),
    /** The saved state to wake it from; null: none. */
    savedState: text('saved_state'),
    cpus: integer('cpus').notNull(),
    memory: bigint('memory', { mode: 'number' }).notNull(),
    /** Of its network cards, in lower case: the same address on two running machines is an alarm. */
    macs: text('macs').array().notNull().default(sql`'{}'`),
    runPolicy: text('run_policy').$type<RunPolicy>().notNull().default('manual'),
    /** Since when it is off because a person wanted it so: what `always-on-unless-stopped` looks at. */
    stoppedAt: moment('stopped_at'),
    /** What its run policy asked for and did not get, in a row: each makes the pause to the next try longer. */
    policyFailures: integer('policy_failures').notNull().default(0),
    policyNextAt: moment('policy_next_at').notNull().defaultNow(),
    /** `migrated`: a verified copy of ours. `copy`: a copy of ours that was not verified. `adopted`: it was there. */
    origin: text('origin').$type<MachineOrigin>().notNull(),
    /** The entry that made it, while there is one. */
    entryId: uuid('entry_id'),
    /** The instance it was. */
    instanceId: uuid('instance_id'),
    /** For If-Match: changes of a person count it up, what is seen does not. */
    version: integer('version').notNull().default(1),
    seenAt: moment('seen_at').notNull().defaultNow(),
    createdAt: moment('created_at').notNull().defaultNow(),
    goneAt: moment('gone_at'),
  },
  (t) => [
    // Gone or not: one that comes back is the one it was.
    uniqueIndex('machine_ref').on(t.targetId, t.ref),
    index('machine_name').on(t.name, t.id),
    index('machine_host').on(t.targetId, t.host),
    // Whatever else is the same VM: asked before anything is started.
    index('machine_uuid').on(t.uuid).where(sql`${t.uuid} <> '' and ${t.goneAt} is null`),
    index('machine_instance').on(t.instanceId).where(sql`${t.instanceId} is not null`),
    index('machine_entry').on(t.entryId).where(sql`${t.entryId} is not null`),
    index('machine_gone').on(t.goneAt).where(sql`${t.goneAt} is not null`),
    // Of those that are not as their run policy wants them: few, whatever there is in all.
    index('machine_policy_due')
      .on(t.policyNextAt, t.id)
      .where(
        sql`${t.goneAt} is null and ${t.runPolicy} <> 'manual'
        and (case ${t.runPolicy} when 'always-off' then ${t.power} = 'on' else ${t.power} = 'off' end)`,
      ),
    check('machine_power', sql`${t.power} in ('on', 'off', 'suspended', 'unknown')`),
    check(
      'machine_policy',
      sql`${t.runPolicy} in ('manual', 'always-on', 'always-on-unless-stopped', 'always-off')`,
    ),
    check('machine_origin', sql`${t.origin} in ('migrated', 'copy', 'adopted')`),
  ],
)

export type MachineRow = typeof machine.$inferSelect

/** One thing that was asked of a machine. It is done once, or not at all. */
export const operation = pgTable(
  'operation',
  {
    id: uuid('id').primaryKey(),
    /** The order of asking. Drawn under the machine's lock: ids go by the clocks of the processes that make them. */
    seq: bigint('seq', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    machineId: uuid('machine_id').notNull(),
    kind: text('kind').$type<OperationKind>().notNull(),
    force: boolean('force').notNull().default(false),
    /** What the kind needs: a host, a snapshot, a name. */
    params: jsonb('params').$type<Record<string, unknown>>().notNull().default({}),
    state: text('state').$type<OperationState>().notNull(),
    /** Why it is where it is: a word of the list of reasons, and a sentence. */
    reason: text('reason').$type<OperationReason>().notNull(),
    message: text('message').notNull(),
    /** Since when that is the reason. */
    reasonAt: moment('reason_at').notNull().defaultNow(),
    error: jsonb('error').$type<RecordedError>(),
    onConflict: text('on_conflict').$type<ConflictRule>().notNull(),
    /** Who wants it: `person`, `evacuation`, `policy`. */
    cause: text('cause').$type<OperationCause>().notNull().default('person'),
    /** Of an evacuation: it stands down for a person's operation, and comes back. */
    standsDown: boolean('stands_down').notNull().default(false),
    /** The one that it comes back for. */
    resumes: uuid('resumes'),
    /** Of an evacuation: the host that the machine is to leave. */
    leaves: text('leaves'),
    /** How often in a row it has failed, with those that it comes back for. */
    failures: integer('failures').notNull().default(0),
    /** Ended before its aim, and wanted still: when to look whether it can come back. */
    comeBackAt: moment('come_back_at'),
    /** How long it may take once it has begun; waiting for its turn does not count. */
    deadlineSeconds: integer('deadline_seconds').notNull(),
    deadlineAt: moment('deadline_at'),
    /** How long it may wait for its turn; of one that stands in line again: until when it may. */
    expiresAt: moment('expires_at').notNull(),
    /** Begun, and held back by us since then: until it is let in its deadline stands still, and `expires_at` counts. */
    inLineSince: moment('in_line_since'),
    /** When it was let in again last. */
    letInAt: moment('let_in_at'),
    progress: integer('progress').notNull().default(0),
    /** From here on it can only be ended, not taken back. */
    pastReturn: boolean('past_return').notNull().default(false),
    supersededBy: uuid('superseded_by'),
    jobId: uuid('job_id'),
    result: jsonb('result').$type<Record<string, unknown>>(),
    createdBy: text('created_by').notNull(),
    createdAt: moment('created_at').notNull().defaultNow(),
    /** When the platform was first asked for something. */
    startedAt: moment('started_at'),
    finishedAt: moment('finished_at'),
    /** When the last of its effects had stopped; ended and not settled: its job is still letting go. */
    settledAt: moment('settled_at'),
    updatedAt: moment('updated_at').notNull().defaultNow(),
  },
  (t) => [
    // The law: at most one at a machine.
    uniqueIndex('operation_active').on(t.machineId).where(sql`${t.state} in ('pending', 'running')`),
    index('operation_machine').on(t.machineId, t.id),
    index('operation_open').on(t.machineId, t.seq).where(sql`${t.settledAt} is null`),
    index('operation_job').on(t.jobId).where(sql`${t.jobId} is not null`),
    index('operation_finished').on(t.finishedAt, t.id).where(sql`${t.finishedAt} is not null`),
    index('operation_comes_back').on(t.comeBackAt).where(sql`${t.comeBackAt} is not null`),
    // A page of few among very many reads few. An index that holds nearly nothing costs nearly nothing to keep.
    index('operation_rare').on(t.state, t.id).where(sql`${t.state} in ('failed', 'canceled', 'superseded')`),
    index('operation_cause').on(t.cause, t.id).where(sql`${t.cause} <> 'person'`),
    index('operation_kind').on(t.kind, t.id),
    // Once in the life of each: its word changes while it is open.
    index('operation_reason').on(t.reason, t.id).where(sql`${t.settledAt} is not null`),
    index('operation_superseded').on(t.supersededBy).where(sql`${t.supersededBy} is not null`),
    check(
      'operation_state',
      sql`${t.state} in ('queued', 'pending', 'running', 'completed', 'failed', 'canceled', 'superseded')`,
    ),
    check('operation_cause', sql`${t.cause} in ('person', 'evacuation', 'policy')`),
    check('operation_progress', sql`${t.progress} between 0 and 100`),
  ],
)

export type OperationRow = typeof operation.$inferSelect

import { z } from '@hono/zod-openapi'
import type { OperationLine } from '../../../../db/queries/operations/list-operations.ts'
import { conflictRules } from '../../../domain/operation/admission/admit.ts'
import { conditionsView, type SignalSeen } from '../../../domain/operation/admission/conditions.ts'
import { resumesUntil } from '../../../domain/operation/admission/operation-followups.ts'
import { whyItWaits } from '../../../domain/operation/admission/why-it-waits.ts'
import { operationCauses, operationKinds } from '../../../domain/operation/kinds/kinds.ts'
import { type OperationReason, operationReasons } from '../../../domain/operation/kinds/reasons.ts'
import { operationStates } from '../../../domain/operation/kinds/state.ts'
import { momentOrNull } from '../../http/route.ts'
import { anything, timestamp } from '../../wire/schemas.ts'
import { toWire } from '../../wire/wire.ts'

export const operationKind = z.enum(operationKinds)
export const operationState = z.enum(operationStates)
export const operationReason = z.enum(
  Object.keys(operationReasons) as [OperationReason, ...OperationReason[]],
)

const slotSchema = z
  .object({
    token: z.string(),
    limit: z.int(),
    holds: z.int(),
    waiters: z.int(),
    position: z.int().openapi({ description: '1 is next.' }),
    holders: z.array(
      z.object({ job_id: z.uuid(), operation_id: z.uuid().nullable(), machine: z.string().nullable() }),
    ),
  })
  .openapi('OperationSlot')
export type SlotView = z.infer<typeof slotSchema>

const waitsSchema = z
  .object({
    reason: operationReason,
    detail: z.string(),
    since: timestamp,
    until: timestamp.nullable().openapi({ description: 'The wait ends at the latest at this time.' }),
    ends_when: z.string(),
    error: anything.nullable().openapi({ description: 'The last error, when the operation is retried.' }),
    older: z
      .array(z.uuid())
      .openapi({ description: 'Ended operations of the machine that are still active.' }),
    slots: z
      .array(slotSchema)
      .nullable()
      .openapi({ description: 'The slots it needs, their holders, its position. Not in lists.' }),
  })
  .openapi('OperationWait')

export const operationCause = z.enum(operationCauses)

export const operationSchema = z
  .object({
    id: z.uuid(),
    machine_id: z.uuid(),
    machine: z.string(),
    target: z.string(),
    kind: operationKind,
    force: z.boolean(),
    params: anything,
    state: operationState,
    reason: operationReason.openapi({ description: 'Why the operation is in this state.' }),
    retryable: z.boolean().openapi({ description: 'The same request may succeed later.' }),
    message: z.string(),
    remedy: z.string(),
    error: anything.nullable(),
    waits: waitsSchema
      .nullable()
      .openapi({ description: 'Why the operation waits; null: it has ended, or is running.' }),
    on_conflict: z.enum(conflictRules),
    cause: operationCause,
    resumes: z
      .uuid()
      .nullable()
      .openapi({ description: 'The operation of the evacuation that this one continues.' }),
    comes_back_at: timestamp.nullable().openapi({
      description: 'When the evacuation is tried again; null if it will not be.',
    }),
    comes_back_until: timestamp.nullable().openapi({
      description: 'Last moment the evacuation is retried; null if it will not be.',
    }),
    progress: z.int(),
    past_return: z
      .boolean()
      .openapi({ description: 'The operation can no longer be undone, only run to its end.' }),
    position: z
      .int()
      .nullable()
      .openapi({ description: 'Number of operations before it; null: it is not queued.' }),
    behind: z.int().openapi({ description: 'Number of operations queued behind it.' }),
    blocker: z.uuid().nullable(),
    superseded_by: z.uuid().nullable(),
    supersedes: z.array(z.uuid()),
    job_id: z.uuid().nullable(),
    result: anything.nullable(),
    deadline_seconds: z.int(),
    deadline_at: timestamp.nullable(),
    expires_at: timestamp.openapi({
      description: 'When the wait timeout ends: before the start, and during a slot wait.',
    }),
    in_line_since: timestamp.nullable().openapi({
      description: 'Start of the current slot wait. The deadline is paused; the wait timeout runs.',
    }),
    created_by: z.string(),
    created_at: timestamp,
    started_at: timestamp.nullable(),
    finished_at: timestamp.nullable(),
    settled_at: timestamp.nullable().openapi({ description: 'When its last effect had stopped.' }),
  })
  .openapi('Operation')

export const conditionsSchema = z
  .object({
    id: z.uuid(),
    phase: z.enum(['Pending', 'InProgress', 'Completed', 'Failed']),
    progress: z
      .string()
      .nullable()
      .openapi({ description: 'Such as `45%`; null: the operation is not a move.' }),
    conditions: z.array(
      z.object({
        type: z.enum(['Completed', 'SignalSent']),
        status: z.enum(['True', 'False', 'Unknown']),
        reason: z.string(),
        message: z.string(),
        last_transition_time: timestamp,
      }),
    ),
  })
  .openapi('OperationConditions')

export type OperationView = z.infer<typeof operationSchema>

export const viewOperation = (
  line: OperationLine,
  slots: readonly SlotView[] | null = null,
): OperationView => {
  const reason = line.shownReason
  const text = operationReasons[reason]
  return toWire(operationSchema, line, {
    machine: line.machineName,
    reason,
    retryable: text.retryable,
    // The stored sentence belongs to the stored reason.
    message: reason === line.reason ? line.message : `${text.title}.`,
    remedy: line.error?.remedy ?? text.remedy,
    waits: viewWait(line, slots),
    comes_back_at: momentOrNull(line.comeBackAt),
    comes_back_until: momentOrNull(line.comeBackAt && line.finishedAt ? resumesUntil(line.finishedAt) : null),
    in_line_since: line.finishedAt === null ? momentOrNull(line.inLineSince) : null,
  })
}

const viewWait = (line: OperationLine, slots: readonly SlotView[] | null): OperationView['waits'] => {
  const wait = whyItWaits(line)
  return wait && toWire(waitsSchema, wait, { older: [...line.older], slots: slots && [...slots] })
}

/** `signal`: read from its effects; null: the effects were pruned. */
export const viewConditions = (
  line: OperationLine,
  signal: SignalSeen | null,
): z.infer<typeof conditionsSchema> => {
  const { phase, progress, conditions } = conditionsView({
    ...line,
    reason: line.shownReason,
    stored: line.reason,
    signal,
  })
  return { id: line.id, phase, progress, conditions: [...conditions] }
}

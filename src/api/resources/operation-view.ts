import { z } from '@hono/zod-openapi'
import type { OperationLine } from '../../../db/queries/list-operations.ts'
import { conditionsView } from '../../domain/operation/conditions.ts'
import { operationKinds } from '../../domain/operation/kinds.ts'
import { type OperationReason, operationReasons } from '../../domain/operation/reasons.ts'
import { type OperationState, operationStates } from '../../domain/operation/state.ts'
import { moment, momentOrNull } from '../route.ts'
import { anything, timestamp } from './schemas.ts'

export const operationKind = z.enum(operationKinds)
export const operationState = z.enum(operationStates)
const reasonNames = Object.keys(operationReasons) as [OperationReason, ...OperationReason[]]

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
    reason: z.enum(reasonNames),
    retryable: z.boolean().openapi({ description: 'Asked again later, it may well succeed.' }),
    message: z.string(),
    remedy: z.string(),
    error: anything.nullable(),
    cause: z.enum(['person', 'evacuation', 'policy']),
    progress: z.int(),
    past_return: z.boolean().openapi({ description: 'It can only be ended now, not taken back.' }),
    position: z.int().nullable().openapi({ description: 'How many are before it; null: it does not queue.' }),
    blocker: z.uuid().nullable(),
    superseded_by: z.uuid().nullable(),
    supersedes: z.array(z.uuid()),
    job_id: z.uuid().nullable(),
    result: anything.nullable(),
    deadline_seconds: z.int(),
    deadline_at: timestamp.nullable(),
    expires_at: timestamp.openapi({ description: 'Until when it waits for its turn.' }),
    created_by: z.string(),
    created_at: timestamp,
    started_at: timestamp.nullable(),
    finished_at: timestamp.nullable(),
    settled_at: timestamp.nullable().openapi({ description: 'When the last of its effects had stopped.' }),
  })
  .openapi('Operation')

export const conditionsSchema = z
  .object({
    id: z.uuid(),
    phase: z.enum(['Pending', 'InProgress', 'Completed', 'Failed']),
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

export const viewOperation = (line: OperationLine): z.infer<typeof operationSchema> => {
  const reason = line.reason as OperationReason
  const text = operationReasons[reason]
  return {
    id: line.id,
    machine_id: line.machineId,
    machine: line.machineName,
    target: line.target,
    kind: line.kind as z.infer<typeof operationKind>,
    force: line.force,
    params: line.params,
    state: line.state as OperationState,
    reason,
    retryable: text.retryable,
    message: line.message,
    remedy: line.error?.remedy ?? text.remedy,
    error: line.error === null ? null : { ...line.error },
    cause: line.cause as 'person' | 'evacuation' | 'policy',
    progress: line.progress,
    past_return: line.pastReturn,
    position: line.position,
    blocker: line.blocker,
    superseded_by: line.supersededBy,
    supersedes: [...line.supersedes],
    job_id: line.jobId,
    result: line.result,
    deadline_seconds: line.deadlineSeconds,
    deadline_at: momentOrNull(line.deadlineAt),
    expires_at: moment(line.expiresAt),
    created_by: line.createdBy,
    created_at: moment(line.createdAt),
    started_at: momentOrNull(line.startedAt),
    finished_at: momentOrNull(line.finishedAt),
    settled_at: momentOrNull(line.settledAt),
  }
}

export const viewConditions = (line: OperationLine): z.infer<typeof conditionsSchema> => {
  const { phase, conditions } = conditionsView({ ...line, state: line.state as OperationState })
  return { id: line.id, phase, conditions: [...conditions] }
}

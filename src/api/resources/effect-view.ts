import { z } from '@hono/zod-openapi'
import type { EffectRow } from '../../../db/schema/effect.ts'
import { moment, momentOrNull } from '../route.ts'
import { anything, subjectSchema, timestamp } from './schemas.ts'

export const effectStates = ['intended', 'done', 'undone', 'debt', 'waived'] as const

export const effectSchema = z
  .object({
    id: z.uuid(),
    job_id: z.uuid(),
    subject: subjectSchema,
    epoch: z.int(),
    kind: z.string(),
    platform: z.string(),
    name: z.string(),
    external_id: z.string().nullable(),
    undo: anything.nullable(),
    state: z.enum(effectStates),
    error: anything.nullable(),
    attempts: z.int(),
    next_try_at: timestamp.nullable(),
    waived: z.object({ by: z.string(), reason: z.string() }).nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .openapi('Effect')

export const viewEffect = (effect: EffectRow): z.infer<typeof effectSchema> => ({
  id: effect.id,
  job_id: effect.jobId,
  subject: { type: effect.subjectType, id: effect.subjectId },
  epoch: effect.epoch,
  kind: effect.kind,
  platform: effect.platform,
  name: effect.name,
  external_id: effect.externalId,
  undo: effect.undo,
  state: effect.state as (typeof effectStates)[number],
  error: effect.error,
  attempts: effect.attempts,
  next_try_at: momentOrNull(effect.nextTryAt),
  waived: effect.waivedBy === null ? null : { by: effect.waivedBy, reason: effect.waivedReason ?? '' },
  created_at: moment(effect.createdAt),
  updated_at: moment(effect.updatedAt),
})

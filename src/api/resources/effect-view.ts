import { z } from '@hono/zod-openapi'
import type { EffectRow } from '../../../db/schema/effect.ts'
import { moment, momentOrNull } from '../route.ts'
import { anything, subjectSchema, timestamp } from './schemas.ts'

export const effectStates = ['intended', 'done', 'undone', 'debt', 'waived'] as const

export const effectSchema = z
  .object({
    id: z.uuid(),
    jobId: z.uuid(),
    subject: subjectSchema,
    epoch: z.int(),
    kind: z.string(),
    platform: z.string(),
    name: z.string(),
    externalId: z.string().nullable(),
    undo: anything.nullable(),
    state: z.enum(effectStates),
    error: anything.nullable(),
    attempts: z.int(),
    nextTryAt: timestamp.nullable(),
    waived: z.object({ by: z.string(), reason: z.string() }).nullable(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .openapi('Effect')

export const viewEffect = (effect: EffectRow): z.infer<typeof effectSchema> => ({
  id: effect.id,
  jobId: effect.jobId,
  subject: { type: effect.subjectType, id: effect.subjectId },
  epoch: effect.epoch,
  kind: effect.kind,
  platform: effect.platform,
  name: effect.name,
  externalId: effect.externalId,
  undo: effect.undo,
  state: effect.state as (typeof effectStates)[number],
  error: effect.error,
  attempts: effect.attempts,
  nextTryAt: momentOrNull(effect.nextTryAt),
  waived: effect.waivedBy === null ? null : { by: effect.waivedBy, reason: effect.waivedReason ?? '' },
  createdAt: moment(effect.createdAt),
  updatedAt: moment(effect.updatedAt),
})

import { z } from '@hono/zod-openapi'
import type { EffectRow } from '../../../../db/schema/effect.ts'
import { anything, subjectSchema, timestamp } from '../../wire/schemas.ts'
import { toWire } from '../../wire/wire.ts'

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

export type EffectView = z.infer<typeof effectSchema>

export const viewEffect = (effect: EffectRow) =>
  toWire(effectSchema, effect, {
    subject: { type: effect.subjectType, id: effect.subjectId },
    state: effect.state as (typeof effectStates)[number],
    waived: effect.waivedBy === null ? null : { by: effect.waivedBy, reason: effect.waivedReason ?? '' },
  })

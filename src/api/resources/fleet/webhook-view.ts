import { z } from '@hono/zod-openapi'
import type { WebhookLine } from '../../../../db/queries/events/webhook-rows.ts'
import { nameSchema } from '../../../domain/job/kind.ts'
import { refuseUrl } from '../../access/webhook-url.ts'
import { timestamp } from '../../wire/schemas.ts'
import { toWire } from '../../wire/wire.ts'

const urlSchema = z
  .string()
  .max(2_000)
  .check((check) => {
    const message = refuseUrl(check.value)
    if (message !== undefined) check.issues.push({ code: 'custom', message, input: check.value })
  })
  .openapi({ type: 'string', format: 'uri', example: 'https://example.org/drover' })

const typesSchema = z
  .array(z.string().regex(/^[a-z][a-z.-]{0,63}\*?$/, 'must be an event type, with or without a trailing *'))
  .max(50)

export const newWebhook = z
  .strictObject({ name: nameSchema, url: urlSchema, types: typesSchema.default([]) })
  .openapi('NewWebhook', {
    example: { name: 'chat', url: 'https://example.org/drover', types: ['job.failed', 'effect.*'] },
  })

export const webhookChange = z
  .strictObject({ name: nameSchema.optional(), url: urlSchema.optional(), types: typesSchema.optional() })
  .refine((change) => Object.keys(change).length > 0, 'must change something')
  .openapi('WebhookChange', { example: { types: ['job.failed'] } })

const shape = {
  id: z.uuid(),
  name: z.string(),
  origin: z.string().openapi({ description: 'Of its URL. The rest is sealed and never shown.' }),
  types: z.array(z.string()).openapi({ description: 'Empty: all.' }),
  state: z.enum(['active', 'paused']),
  version: z.int(),
  delivery: z.object({
    cursor: z.string().openapi({ description: 'The last event that was delivered or is not wanted.' }),
    failures: z.int().openapi({ description: 'In a row.' }),
    next_try_at: timestamp,
    last_error: z.string().nullable(),
    last_delivered_at: timestamp.nullable(),
  }),
  created_by: z.string(),
  created_at: timestamp,
  updated_at: timestamp,
}

export const webhookSchema = z.object(shape).openapi('Webhook')

export const webhookWithSecret = z
  .object({ ...shape, secret: z.string().openapi({ description: 'Signs what is sent. Shown this once.' }) })
  .openapi('WebhookWithSecret')

export const viewWebhook = (webhook: WebhookLine) =>
  toWire(webhookSchema, webhook, { delivery: toWire(shape.delivery, webhook) })

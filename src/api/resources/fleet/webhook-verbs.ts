import { z } from '@hono/zod-openapi'
import type { Tx } from '../../../../db/client.ts'
import { insertAuditEvent } from '../../../../db/queries/events/insert-audit-event.ts'
import { headCursor, startCursor } from '../../../../db/queries/events/read-events-after.ts'
import { lockWebhook, updateWebhook, type WebhookChange } from '../../../../db/queries/events/webhook-rows.ts'
import { requireCursor } from '../../../ledger/events/event-cursor.ts'
import type { ApiDeps } from '../../http/env.ts'
import { once } from '../../http/idempotency.ts'
import { defineRoute, idParams, json, jsonBody, newResource } from '../../http/route.ts'
import { etagOf } from '../../wire/preconditions.ts'
import { notFound } from '../../wire/problem.ts'
import { viewWebhook, webhookSchema } from './webhook-view.ts'

const tag = 'Webhooks'

const replay = defineRoute({
  method: 'post',
  path: '/webhooks/{id}/:verb{:replay}',
  role: 'operator',
  tag,
  summary: 'Send events again from a cursor',
  description: 'Everything after `from` is sent (again). Receivers tell repeats by the event id.',
  request: {
    params: idParams,
    body: jsonBody(
      z
        .strictObject({ from: z.string().max(60).openapi({ description: 'An event id, `start` or `now`.' }) })
        .openapi('Replay', { example: { from: '1-7042-81' } }),
    ),
  },
  responses: { 200: json(webhookSchema, 'Its cursor was moved') },
})

const pause = defineRoute({
  method: 'post',
  path: '/webhooks/{id}/:verb{:pause}',
  role: 'operator',
  tag,
  summary: 'Stop sending; events wait',
  request: { params: idParams },
  responses: { 200: json(webhookSchema, 'It is paused') },
})

const resume = defineRoute({
  method: 'post',
  path: '/webhooks/{id}/:verb{:resume}',
  role: 'operator',
  tag,
  summary: 'Go on sending from where it stopped',
  request: { params: idParams },
  responses: { 200: json(webhookSchema, 'It is active') },
})

const act = async (tx: Tx, id: string, by: string, verb: string, change: WebhookChange) => {
  const before = await lockWebhook(tx, id)
  if (!before) throw notFound('webhook', id)
  const webhook = await updateWebhook(tx, id, change)
  await insertAuditEvent(tx, {
    type: `webhook.${verb}`,
    subject: { type: 'webhook', id },
    actor: by,
    from: before.state,
    to: webhook.state,
    detail: { cursor_before: before.cursor, cursor: webhook.cursor },
  })
  return { status: 200 as const, body: viewWebhook(webhook), headers: { ETag: etagOf(webhook.version) } }
}

const cursorOf = async (tx: Tx, from: string) => {
  if (from === 'start') return startCursor
  return from === 'now' ? await headCursor(tx) : requireCursor(from, 'from')
}

/** `/webhooks/{id}/:replay`, `:pause` and `:resume`. */
export const webhookVerbs = (deps: ApiDeps) =>
  newResource()
    .openapi(replay, async (c) => {
      const { id } = c.req.valid('param')
      const { from } = c.req.valid('json')
      const by = c.get('actor').name
      const answer = await once(c, deps, async (tx) =>
        act(tx, id, by, 'replayed', { cursor: await cursorOf(tx, from) }),
      )
      return c.json(answer.body, 200)
    })
    .openapi(pause, async (c) => {
      const { id } = c.req.valid('param')
      const by = c.get('actor').name
      const answer = await once(c, deps, (tx) => act(tx, id, by, 'paused', { state: 'paused' }))
      return c.json(answer.body, 200)
    })
    .openapi(resume, async (c) => {
      const { id } = c.req.valid('param')
      const by = c.get('actor').name
      const answer = await once(c, deps, (tx) => act(tx, id, by, 'resumed', { state: 'active' }))
      return c.json(answer.body, 200)
    })

import { v7 as uuidv7 } from 'uuid'
import type { Tx } from '../../../../db/client.ts'
import { insertAuditEvent } from '../../../../db/queries/events/insert-audit-event.ts'
import { headCursor } from '../../../../db/queries/events/read-events-after.ts'
import {
  deleteWebhook,
  findWebhook,
  insertWebhook,
  listWebhooks,
  lockWebhook,
  updateWebhook,
  type WebhookLine,
} from '../../../../db/queries/events/webhook-rows.ts'
import { newWebhookSecret } from '../../../ledger/events/webhook-signature.ts'
import { webhookSecretPlace } from '../../../seal/seal-places.ts'
import { sealUrl } from '../../../sealing/sealed-url.ts'
import type { ApiDeps } from '../../http/env.ts'
import { once } from '../../http/idempotency.ts'
import { listRoute, showRoute } from '../../http/read-routes.ts'
import { defineRoute, idParams, ifMatchHeaders, json, jsonBody } from '../../http/route.ts'
import { etagOf, requireVersion } from '../../wire/preconditions.ts'
import { notFound } from '../../wire/problem.ts'
import { newWebhook, viewWebhook, webhookChange, webhookSchema, webhookWithSecret } from './webhook-view.ts'

const tag = 'Webhooks'

const list = listRoute({
  path: '/webhooks',
  tag,
  summary: 'List webhooks and how their delivery goes',
  item: webhookSchema,
  page: 'WebhookPage',
  says: 'A page of webhooks',
  read: ({ db }, _, at) => listWebhooks(db, at),
  view: viewWebhook,
})

const show = showRoute({
  path: '/webhooks/{id}',
  tag,
  summary: 'Show a webhook',
  schema: webhookSchema,
  says: 'The webhook; its ETag is for If-Match',
  noun: 'webhook',
  find: ({ db }, id) => findWebhook(db, id),
  view: viewWebhook,
  version: (webhook) => webhook.version,
})

const create = defineRoute({
  method: 'post',
  path: '/webhooks',
  role: 'admin',
  tag,
  summary: 'Create a webhook',
  description:
    'Events from now on are sent, signed, at least once and in order. The secret is shown this once. Of the URL only ' +
    'the origin is ever shown again.',
  request: { body: jsonBody(newWebhook) },
  responses: { 201: json(webhookWithSecret, 'Created, with its secret') },
})

const change = defineRoute({
  method: 'patch',
  path: '/webhooks/{id}',
  role: 'admin',
  tag,
  summary: 'Change a webhook',
  request: { params: idParams, headers: ifMatchHeaders, body: jsonBody(webhookChange) },
  responses: { 200: json(webhookSchema, 'Changed') },
})

const remove = defineRoute({
  method: 'delete',
  path: '/webhooks/{id}',
  role: 'admin',
  tag,
  summary: 'Delete a webhook',
  request: { params: idParams, headers: ifMatchHeaders },
  responses: { 204: { description: 'Deleted' } },
})

const audit = (tx: Tx, id: string, type: string, actor: string, detail: Record<string, unknown> = {}) =>
  insertAuditEvent(tx, { type, subject: { type: 'webhook', id }, actor, detail })

const locked = async (tx: Tx, id: string, ifMatch: string | undefined): Promise<WebhookLine> => {
  const webhook = await lockWebhook(tx, id)
  if (!webhook) throw notFound('webhook', id)
  requireVersion(ifMatch, webhook.version)
  return webhook
}

/** `/webhooks`: everything but the verbs, which are in webhook-verbs.ts. */
export const webhooks = (deps: ApiDeps) =>
  show(deps, list(deps))
    .openapi(create, async (c) => {
      const body = c.req.valid('json')
      const by = c.get('actor').name
      const work = async (tx: Tx) => {
        const secret = newWebhookSecret()
        const id = uuidv7()
        const { url, ...rest } = body
        const webhook = await insertWebhook(tx, {
          ...rest,
          ...sealUrl(deps.sealer, id, url),
          id,
          secret: deps.sealer.seal(secret, webhookSecretPlace(id)),
          cursor: await headCursor(tx),
          by,
        })
        await audit(tx, webhook.id, 'webhook.created', by, { name: body.name, origin: webhook.origin })
        return {
          status: 201 as const,
          body: { ...viewWebhook(webhook), secret },
          headers: { Location: `/v1/webhooks/${webhook.id}`, ETag: etagOf(webhook.version) },
        }
      }
      const answer = await once(c, deps, work, { secret: true })
      return c.json(answer.body, 201)
    })
    .openapi(change, async (c) => {
      const { id } = c.req.valid('param')
      const { url, ...rest } = c.req.valid('json')
      const webhook = (await deps.db.begin(async (tx) => {
        await locked(tx, id, c.req.valid('header')['if-match'])
        await audit(tx, id, 'webhook.changed', c.get('actor').name, {
          changed: Object.keys(c.req.valid('json')),
        })
        return await updateWebhook(tx, id, {
          ...rest,
          ...(url === undefined ? {} : sealUrl(deps.sealer, id, url)),
        })
      })) as WebhookLine
      c.header('ETag', etagOf(webhook.version))
      return c.json(viewWebhook(webhook), 200)
    })
    .openapi(remove, async (c) => {
      const { id } = c.req.valid('param')
      await deps.db.begin(async (tx) => {
        const { name } = await locked(tx, id, c.req.valid('header')['if-match'])
        await deleteWebhook(tx, id)
        await audit(tx, id, 'webhook.deleted', c.get('actor').name, { name })
      })
      return c.body(null, 204)
    })

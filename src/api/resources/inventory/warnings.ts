import { z } from '@hono/zod-openapi'
import type { Tx } from '../../../../db/client.ts'
import { insertAuditEvent } from '../../../../db/queries/events/insert-audit-event.ts'
import {
  findWarning,
  listWarnings,
  lockWarning,
  writeWarningStatus,
} from '../../../../db/queries/sites/warning-rows.ts'
import type { WarningRow } from '../../../../db/schema/inventory.ts'
import type { ApiDeps } from '../../http/env.ts'
import { once } from '../../http/idempotency.ts'
import { listRoute, showRoute } from '../../http/read-routes.ts'
import { defineRoute, idParams, json } from '../../http/route.ts'
import { notFound } from '../../wire/problem.ts'
import { parseSubject, subjectQuery, timestamp } from '../../wire/schemas.ts'
import { toWire } from '../../wire/wire.ts'

const tag = 'Warnings'
const statuses = ['new', 'acknowledged'] as const

const warningSchema = z
  .object({
    id: z.uuid(),
    type: z.string(),
    entity: z.object({ type: z.string(), id: z.string(), name: z.string() }),
    status: z.enum(statuses),
    messages: z.array(z.object({ text: z.string(), first_seen_at: timestamp, last_seen_at: timestamp })),
    count: z.int().openapi({ description: 'How often it was seen.' }),
    first_seen_at: timestamp,
    last_seen_at: timestamp,
    acknowledged_by: z.string().nullable(),
    acknowledged_at: timestamp.nullable(),
  })
  .openapi('Warning')

export type WarningView = z.infer<typeof warningSchema>

const acknowledge = defineRoute({
  method: 'post',
  path: '/warnings/{id}/:verb{:acknowledge}',
  role: 'operator',
  tag,
  summary: 'Say that you have read a warning',
  description: 'It stays until what it says is mended. Something new in it makes it new again.',
  request: { params: idParams },
  responses: { 200: json(warningSchema, 'Acknowledged') },
})

const reopen = defineRoute({
  method: 'post',
  path: '/warnings/{id}/:verb{:reopen}',
  role: 'operator',
  tag,
  summary: 'Have a warning read again',
  request: { params: idParams },
  responses: { 200: json(warningSchema, 'It is new') },
})

const view = (row: WarningRow) =>
  toWire(warningSchema, row, {
    entity: { type: row.entityType, id: row.entityId, name: row.entityName },
    status: row.status as (typeof statuses)[number],
  })

const list = listRoute({
  path: '/warnings',
  tag,
  summary: 'What somebody should know, the newest first',
  description: 'Repeats merge into one warning, and what heals goes by itself.',
  query: {
    status: z.enum(statuses).optional(),
    type: z.string().max(100).optional(),
    entity: subjectQuery.openapi({ description: 'type/id or type/name', example: 'source/paris' }),
  },
  item: warningSchema,
  page: 'WarningPage',
  says: 'A page of warnings',
  read: ({ db }, { status, type, entity }, at) =>
    listWarnings(db, { status, type, entity: parseSubject(entity) }, at),
  view,
})

const show = showRoute({
  path: '/warnings/{id}',
  tag,
  summary: 'Show a warning',
  schema: warningSchema,
  says: 'The warning',
  noun: 'warning',
  find: ({ db }, id) => findWarning(db, id),
  view,
})

/** Doing it twice is doing it once: the first to acknowledge stays on record. */
const settle = async (
  tx: Tx,
  asked: { id: string; status: (typeof statuses)[number]; verb: string; by: string },
) => {
  const before = await lockWarning(tx, asked.id)
  if (!before) throw notFound('warning', asked.id)
  if (before.status === asked.status) return { status: 200 as const, body: view(before) }
  const row = await writeWarningStatus(tx, asked.id, asked.status, asked.by)
  await insertAuditEvent(tx, {
    type: `warning.${asked.verb}`,
    subject: { type: row.entityType, id: row.entityId },
    actor: asked.by,
    from: before.status,
    to: row.status,
    detail: { type: row.type, warning_id: row.id },
  })
  return { status: 200 as const, body: view(row) }
}

export const warnings = (deps: ApiDeps) =>
  show(deps, list(deps))
    .openapi(acknowledge, async (c) => {
      const { id } = c.req.valid('param')
      const by = c.get('actor').name
      const answer = await once(c, deps, (tx) =>
        settle(tx, { id, status: 'acknowledged', verb: 'acknowledged', by }),
      )
      return c.json(answer.body, 200)
    })
    .openapi(reopen, async (c) => {
      const { id } = c.req.valid('param')
      const by = c.get('actor').name
      const answer = await once(c, deps, (tx) => settle(tx, { id, status: 'new', verb: 'reopened', by }))
      return c.json(answer.body, 200)
    })

import { z } from '@hono/zod-openapi'
import type { Tx } from '../../../db/client.ts'
import { insertAuditEvent } from '../../../db/queries/insert-audit-event.ts'
import {
  findWarning,
  listWarnings,
  lockWarning,
  writeWarningStatus,
} from '../../../db/queries/warning-rows.ts'
import type { WarningRow } from '../../../db/schema/inventory.ts'
import type { ApiDeps } from '../env.ts'
import { once } from '../idempotency.ts'
import { pageOf, pageQuery, readCursor, toPage, uuidKey } from '../page.ts'
import { notFound } from '../problem.ts'
import { defineRoute, idParams, json, newResource } from '../route.ts'
import { toWire } from '../wire.ts'
import { parseSubject, subjectQuery, timestamp } from './schemas.ts'

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

const list = defineRoute({
  method: 'get',
  path: '/warnings',
  role: 'viewer',
  tag,
  summary: 'What somebody should know, the newest first',
  description: 'Repeats merge into one warning, and what heals goes by itself.',
  request: {
    query: pageQuery.extend({
      status: z.enum(statuses).optional(),
      type: z.string().max(100).optional(),
      entity: subjectQuery.openapi({ description: 'type/id or type/name', example: 'source/paris' }),
    }),
  },
  responses: { 200: json(pageOf(warningSchema, 'WarningPage'), 'A page of warnings') },
})

const show = defineRoute({
  method: 'get',
  path: '/warnings/{id}',
  role: 'viewer',
  tag,
  summary: 'Show a warning',
  request: { params: idParams },
  responses: { 200: json(warningSchema, 'The warning') },
})

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
  newResource()
    .openapi(list, async (c) => {
      const { limit, cursor, status, type, entity } = c.req.valid('query')
      const rows = await listWarnings(
        deps.db,
        { status, type, entity: parseSubject(entity) },
        { before: readCursor('warnings', uuidKey, cursor), limit: limit + 1 },
      )
      return c.json(toPage(rows, { list: 'warnings', limit, key: (row) => row.id, item: view }), 200)
    })
    .openapi(show, async (c) => {
      const { id } = c.req.valid('param')
      const row = await findWarning(deps.db, id)
      if (!row) throw notFound('warning', id)
      return c.json(view(row), 200)
    })
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

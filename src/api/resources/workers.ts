import { z } from '@hono/zod-openapi'
import { listWorkers, type WorkerLine } from '../../../db/queries/list-workers.ts'
import type { ApiDeps } from '../env.ts'
import { pageOf, pageQuery, readCursor, toPage, uuidKey } from '../page.ts'
import { defineRoute, json, newResource } from '../route.ts'
import { toWire } from '../wire.ts'
import { timestamp } from './schemas.ts'

const workerSchema = z
  .object({
    id: z.uuid(),
    role: z.string(),
    host: z.string(),
    pid: z.int(),
    version: z.string(),
    kinds: z
      .record(z.string(), z.int())
      .openapi({ description: 'Highest payload version it runs, by kind.' }),
    slots: z.record(z.string(), z.int()).openapi({ description: 'Jobs at once, by kind.' }),
    state: z.enum(['active', 'draining', 'stopped', 'lost']),
    live: z.boolean().openapi({ description: 'Heard of within the lease.' }),
    running: z.int(),
    started_at: timestamp,
    heartbeat_at: timestamp,
    silent_ms: z.int(),
    stopped_at: timestamp.nullable(),
  })
  .openapi('Worker')

export type WorkerView = z.infer<typeof workerSchema>

const list = defineRoute({
  method: 'get',
  path: '/workers',
  role: 'viewer',
  tag: 'Workers',
  summary: 'The processes of the fleet',
  request: {
    query: pageQuery.extend({
      live: z
        .enum(['true', 'false'])
        .optional()
        .openapi({ description: 'true: not stopped and not lost. false: the others.' }),
      role: z.string().max(32).optional(),
    }),
  },
  responses: { 200: json(pageOf(workerSchema, 'WorkerPage'), 'A page of processes') },
})

const view = (row: WorkerLine, leaseMs: number) =>
  toWire(workerSchema, row, {
    state: row.state as z.infer<typeof workerSchema>['state'],
    live: row.stoppedAt === null && row.silentMs <= leaseMs,
    silent_ms: Math.max(0, Math.round(row.silentMs)),
  })

export const workers = (deps: ApiDeps) =>
  newResource().openapi(list, async (c) => {
    const { limit, cursor, live, role } = c.req.valid('query')
    const rows = await listWorkers(
      deps.db,
      { live: live === undefined ? undefined : live === 'true', role },
      { before: readCursor('workers', uuidKey, cursor), limit: limit + 1 },
    )
    const page = toPage(rows, {
      list: 'workers',
      limit,
      key: (row) => row.id,
      item: (row) => view(row, deps.leaseMs),
    })
    return c.json(page, 200)
  })

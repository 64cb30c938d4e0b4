import { z } from '@hono/zod-openapi'
import { listWorkers, type WorkerLine } from '../../../../db/queries/fleet/list-workers.ts'
import { listRoute } from '../../http/read-routes.ts'
import { timestamp } from '../../wire/schemas.ts'
import { toWire } from '../../wire/wire.ts'

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

const view = (row: WorkerLine, leaseMs: number) =>
  toWire(workerSchema, row, {
    state: row.state as z.infer<typeof workerSchema>['state'],
    live: row.stoppedAt === null && row.silentMs <= leaseMs,
    silent_ms: Math.max(0, Math.round(row.silentMs)),
  })

export const workers = listRoute({
  path: '/workers',
  tag: 'Workers',
  summary: 'The processes of the fleet',
  query: {
    live: z
      .enum(['true', 'false'])
      .optional()
      .openapi({ description: 'true: not stopped and not lost. false: the others.' }),
    role: z.string().max(32).optional(),
  },
  item: workerSchema,
  page: 'WorkerPage',
  says: 'A page of processes',
  read: ({ db }, { live, role }, at) =>
    listWorkers(db, { live: live === undefined ? undefined : live === 'true', role }, at),
  view: (row, { leaseMs }) => view(row, leaseMs),
})

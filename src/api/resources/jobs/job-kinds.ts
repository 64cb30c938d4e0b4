import { z } from '@hono/zod-openapi'
import { z as plain } from 'zod'
import { listPauses } from '../../../../db/queries/fleet/list-pauses.ts'
import { countJobsByKind } from '../../../../db/queries/jobs/count-jobs.ts'
import type { JobKind } from '../../../domain/job/kind.ts'
import { jobKinds } from '../../../domain/job/kinds/registry.ts'
import type { ApiDeps } from '../../http/env.ts'
import { defineRoute, json, newResource } from '../../http/route.ts'
import { anything } from '../../wire/schemas.ts'

const list = defineRoute({
  method: 'get',
  path: '/job-kinds',
  role: 'viewer',
  tag: 'Jobs',
  summary: 'The kinds of jobs, their payloads and how many there are',
  request: {},
  responses: {
    200: json(
      z
        .object({
          items: z.array(
            z.object({
              kind: z.string(),
              title: z.string(),
              version: z.int(),
              payload: anything.openapi({
                description: 'JSON Schema (2020-12) of what POST /v1/jobs takes.',
              }),
              queue: z.string(),
              paused: z.boolean(),
              concurrency: z.int(),
              counts: z
                .record(z.string(), z.int())
                .openapi({ description: 'Not ended ones by state, and failed ones.' }),
            }),
          ),
        })
        .openapi('JobKinds'),
      'Every kind',
    ),
  },
})

// Schemas do not change while a process lives.
const payloadSchemas = new Map(jobKinds.map((kind) => [kind.kind, payloadSchema(kind)]))

function payloadSchema(kind: JobKind): Record<string, unknown> {
  return { ...plain.toJSONSchema(kind.payload, { io: 'input', target: 'draft-2020-12' }) }
}

export const kinds = (deps: ApiDeps) =>
  newResource().openapi(list, async (c) => {
    const [counts, pauses] = await Promise.all([countJobsByKind(deps.db), listPauses(deps.db)])
    const items = jobKinds.map((kind) => ({
      kind: kind.kind,
      title: kind.title,
      version: kind.version,
      payload: payloadSchemas.get(kind.kind) ?? {},
      queue: kind.kind,
      paused: pauses.some((pause) => pause.scope === 'kind' && pause.name === kind.kind),
      concurrency: kind.concurrency,
      counts: Object.fromEntries(
        counts.filter((count) => count.kind === kind.kind).map((count) => [count.state, count.jobs]),
      ),
    }))
    return c.json({ items }, 200)
  })

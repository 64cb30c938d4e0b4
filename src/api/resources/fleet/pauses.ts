import { z } from '@hono/zod-openapi'
import { listPauses, type PauseLine } from '../../../../db/queries/fleet/list-pauses.ts'
import { insertPause } from '../../../../db/queries/fleet/pauses.ts'
import { findKind } from '../../../domain/job/kinds/registry.ts'
import { nudge } from '../../../ledger/jobs/nudge.ts'
import { resumeBySomebody } from '../../../migration/entry/resume-work.ts'
import type { ApiDeps } from '../../http/env.ts'
import { once } from '../../http/idempotency.ts'
import { defineRoute, json, jsonBody, newResource } from '../../http/route.ts'
import { notFound, problem } from '../../wire/problem.ts'
import { laneName, reasonText, timestamp } from '../../wire/schemas.ts'
import { toWire } from '../../wire/wire.ts'

const tag = 'Pauses'
const scope = z.enum(['kind', 'lane'])

const pauseSchema = z
  .object({
    scope,
    name: z.string(),
    reason: z.string(),
    paused_by: z.string(),
    paused_at: timestamp,
    running: z.int().openapi({ description: 'Jobs of it that still run: 0 means drained.' }),
  })
  .openapi('Pause')

const list = defineRoute({
  method: 'get',
  path: '/pauses',
  role: 'viewer',
  tag,
  summary: 'What is paused, and how much of it still runs',
  request: {},
  responses: { 200: json(z.object({ items: z.array(pauseSchema) }).openapi('Pauses'), 'All pauses') },
})

const create = defineRoute({
  method: 'post',
  path: '/pauses',
  role: 'operator',
  tag,
  summary: 'Pause a kind or a lane',
  description: 'No new job of it starts; what runs goes on. To drain, pause and wait until `running` is 0.',
  request: {
    body: jsonBody(
      z.strictObject({ scope, name: laneName, reason: reasonText }).openapi('NewPause', {
        example: { scope: 'kind', name: 'self-test', reason: 'upgrade of the hosts' },
      }),
    ),
  },
  responses: { 200: json(pauseSchema, 'It is paused') },
})

const remove = defineRoute({
  method: 'delete',
  path: '/pauses/{scope}/{name}',
  role: 'operator',
  tag,
  summary: 'Let a kind or a lane go on',
  description: 'Refused for the lane of a stopped batch: start the batch.',
  request: { params: z.object({ scope, name: laneName }) },
  responses: { 204: { description: 'It goes on' } },
})

const view = (line: PauseLine) => toWire(pauseSchema, line)

export const pauses = (deps: ApiDeps) =>
  newResource()
    .openapi(list, async (c) => c.json({ items: (await listPauses(deps.db)).map(view) }, 200))
    .openapi(create, async (c) => {
      const body = c.req.valid('json')
      if (body.scope === 'kind' && !findKind(body.name))
        throw problem('validation-failed', `name: There is no job kind "${body.name}".`, {
          field: 'name',
          errors: [{ field: 'name', message: 'is not a job kind; see GET /v1/job-kinds' }],
        })
      const answer = await once(c, deps, async (tx) => {
        await insertPause(tx, { ...body, by: c.get('actor').name })
        const [line] = await listPauses(tx, body)
        if (!line) throw new Error('A pause was written but did not come back.')
        return { status: 200 as const, body: view(line) }
      })
      return c.json(answer.body, 200)
    })
    .openapi(remove, async (c) => {
      const key = c.req.valid('param')
      const gone = await deps.db.begin((tx) => resumeBySomebody(tx, key, c.get('actor').name))
      if (!gone) throw notFound(`pause of ${key.scope}`, key.name)
      nudge(deps.db)
      return c.body(null, 204)
    })

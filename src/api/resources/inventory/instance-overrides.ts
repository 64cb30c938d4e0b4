import { z } from '@hono/zod-openapi'
import type { Tx } from '../../../../db/client.ts'
import {
  type HeldEntry,
  lockEntryOfInstance,
  writeEntryPower,
} from '../../../../db/queries/entries/entry-power.ts'
import { wakeBlocked } from '../../../../db/queries/entries/wake-blocked.ts'
import { insertAuditEvent } from '../../../../db/queries/events/insert-audit-event.ts'
import {
  findInstance,
  type InstanceLine,
  lockInstance,
  writeInstanceOverrides,
} from '../../../../db/queries/instances/list-instances.ts'
import {
  type InstanceOverrides,
  instanceOverridesSchema,
  isBeyondRecord,
  overridesProblem,
} from '../../../domain/inventory/overrides.ts'
import { endsRunning } from '../../../domain/migration/batch/start-batch.ts'
import { reassess } from '../../../inventory/judge/assess.ts'
import { nudge } from '../../../ledger/jobs/nudge.ts'
import type { ApiDeps } from '../../http/env.ts'
import { defineRoute, idParams, ifMatchHeaders, json, jsonBody, newResource } from '../../http/route.ts'
import { etagOf, requireVersion } from '../../wire/preconditions.ts'
import { notFound, problem, validationProblem } from '../../wire/problem.ts'
import { overridesOf } from './instance-view.ts'

const tag = 'Instances'

// A copy: a schema that was made before zod-openapi was loaded does not have its methods.
const overridesBody = instanceOverridesSchema.meta({}).openapi('InstanceOverrides', {
  example: { cpus: 4, comment: 'agreed with the shop team', stopped_after: true },
})

const answer = z
  .object({ instance_id: z.uuid(), version: z.int(), overrides: overridesBody })
  .openapi('InstanceOverridesState')

const show = defineRoute({
  method: 'get',
  path: '/instances/{id}/overrides',
  role: 'viewer',
  tag,
  summary: 'What people decided about an instance',
  request: { params: idParams },
  responses: { 200: json(answer, 'The overrides; their ETag is for If-Match') },
})

const write = defineRoute({
  method: 'put',
  path: '/instances/{id}/overrides',
  role: 'operator',
  tag,
  summary: "Replace an instance's overrides",
  description:
    "A field that is not given leaves the source's word. The instance is assessed anew at once. While a running " +
    'batch holds the instance, only `comment`, `started_after` and `stopped_after` may change, and the last two only ' +
    'until the verification of its target begins.',
  request: { params: idParams, headers: ifMatchHeaders, body: jsonBody(overridesBody) },
  responses: { 200: json(answer, 'They hold now') },
})

const clear = defineRoute({
  method: 'delete',
  path: '/instances/{id}/overrides',
  role: 'operator',
  tag,
  summary: "Take an instance's overrides away",
  request: { params: idParams, headers: ifMatchHeaders },
  responses: { 204: { description: 'It is as its source says' } },
})

const view = (row: InstanceLine): z.infer<typeof answer> => ({
  instance_id: row.id,
  version: row.version,
  overrides: overridesOf(row),
})

export const requireInstance = (row: InstanceLine | undefined, id: string): InstanceLine => {
  if (!row) throw notFound('instance', id)
  return row
}

const changedFields = (before: InstanceOverrides, after: InstanceOverrides): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => {
    const [a, b] = [before, after].map((overrides) =>
      JSON.stringify((overrides as Record<string, unknown>)[name]),
    )
    return a !== b
  })

/** What of a held instance may change, and with it how its target ends. */
const changeHeld = async (
  tx: Tx,
  asked: {
    readonly row: InstanceLine
    readonly entry: HeldEntry | undefined
    readonly changed: readonly string[]
    readonly overrides: InstanceOverrides
    readonly by: string
  },
): Promise<void> => {
  const { row, entry, overrides } = asked
  const held = asked.changed.filter((field) => !isBeyondRecord(field))
  if (held.length > 0 || !entry)
    throw problem(
      'instance-frozen',
      `The batch ${row.frozenBy} runs and holds the instance as it is: ${held.join(', ')} cannot change.`,
    )
  const running = endsRunning(entry.sourceRan, overrides)
  if (running === entry.running) return
  if (entry.state === 'worker-done' && entry.verifying)
    throw problem(
      'instance-frozen',
      'Its verification has begun: how its target ends cannot change any more, unless that ends in a conflict.',
    )
  await writeEntryPower(tx, entry.id, running)
  await insertAuditEvent(tx, {
    type: 'entry.power-changed',
    subject: { type: 'entry', id: entry.id },
    actor: asked.by,
    from: entry.running ? 'running' : 'off',
    to: running ? 'running' : 'off',
    detail: { instance_id: row.id },
  })
}

const replace = async (
  tx: Tx,
  asked: { id: string; ifMatch: string | undefined; overrides: InstanceOverrides; by: string },
): Promise<InstanceLine> => {
  const entry = await lockEntryOfInstance(tx, asked.id)
  const row = requireInstance(await lockInstance(tx, asked.id), asked.id)
  requireVersion(asked.ifMatch, row.version)
  const wrong = overridesProblem(row.facts, asked.overrides)
  if (wrong) throw validationProblem([wrong])
  const changed = changedFields(overridesOf(row), asked.overrides)
  if (row.frozenBy !== null) await changeHeld(tx, { row, entry, changed, ...asked })
  await writeInstanceOverrides(tx, row.id, asked.overrides)
  if (changed.length > 0) {
    await reassess(tx, { instanceIds: [row.id] })
    await wakeBlocked(tx, { instanceId: row.id })
  }
  await insertAuditEvent(tx, {
    type: 'instance.overrides-changed',
    subject: { type: 'instance', id: row.id },
    actor: asked.by,
    detail: { name: row.name, source: row.source, changed, overrides: asked.overrides },
  })
  return requireInstance(await findInstance(tx, row.id), row.id)
}

/** `/instances/{id}/overrides`. */
export const instanceOverrides = (deps: ApiDeps) =>
  newResource()
    .openapi(show, async (c) => {
      const { id } = c.req.valid('param')
      const row = requireInstance(await findInstance(deps.db, id), id)
      c.header('ETag', etagOf(row.version))
      return c.json(view(row), 200)
    })
    .openapi(write, async (c) => {
      const { id } = c.req.valid('param')
      const row = (await deps.db.begin((tx) =>
        replace(tx, {
          id,
          ifMatch: c.req.valid('header')['if-match'],
          overrides: c.req.valid('json'),
          by: c.get('actor').name,
        }),
      )) as InstanceLine
      nudge(deps.db)
      c.header('ETag', etagOf(row.version))
      return c.json(view(row), 200)
    })
    .openapi(clear, async (c) => {
      const { id } = c.req.valid('param')
      await deps.db.begin((tx) =>
        replace(tx, {
          id,
          ifMatch: c.req.valid('header')['if-match'],
          overrides: {},
          by: c.get('actor').name,
        }),
      )
      nudge(deps.db)
      return c.body(null, 204)
    })

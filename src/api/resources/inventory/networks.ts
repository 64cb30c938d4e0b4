import { z } from '@hono/zod-openapi'
import type { Tx } from '../../../../db/client.ts'
import { wakeBlocked } from '../../../../db/queries/entries/wake-blocked.ts'
import { insertAuditEvent } from '../../../../db/queries/events/insert-audit-event.ts'
import {
  findNetwork,
  lockNetwork,
  type NetworkLine,
  writeNetworkOverrides,
} from '../../../../db/queries/sites/list-site-things.ts'
import {
  type NetworkOverrides,
  networkOverridesSchema,
  nicTypes,
  placeNetwork,
} from '../../../domain/inventory/overrides.ts'
import { nudge } from '../../../ledger/jobs/nudge.ts'
import type { ApiDeps } from '../../http/env.ts'
import { showRoute } from '../../http/read-routes.ts'
import { defineRoute, idParams, ifMatchHeaders, json, jsonBody } from '../../http/route.ts'
import { etagOf, requireVersion } from '../../wire/preconditions.ts'
import { notFound, problem } from '../../wire/problem.ts'
import { factsToWire } from '../../wire/wire.ts'
import { placeOf, placeShape, projectsShape } from './site-things.ts'

const tag = 'Networks'

// A copy: a schema that was made before zod-openapi was loaded does not have its methods.
const overridesBody = networkOverridesSchema.meta({}).openapi('NetworkOverrides', {
  example: { network: 'vlan100', nictype: 'bridged', vlan_id: '100' },
})

export const networkSchema = z
  .object({
    ...placeShape,
    ref: z.string(),
    name: z.string(),
    location: z.string(),
    type: z.string(),
    datacenter: z.string(),
    switch: z.string(),
    vlan: z.string(),
    segment_id: z.string(),
    subnets: z.array(z.string()),
    accessible: z.boolean(),
    projects: projectsShape,
    overrides: z.record(z.string(), z.unknown()),
    version: z.int(),
    placement: z
      .object({ network: z.string(), nictype: z.enum(nicTypes), vlan_id: z.string() })
      .nullable()
      .openapi({ description: 'Where its cards land on a target, after overrides; null for a target.' }),
  })
  .openapi('Network')

export type NetworkView = z.infer<typeof networkSchema>

export const viewNetwork = (row: NetworkLine): NetworkView =>
  factsToWire(
    networkSchema,
    { facts: row.facts, row },
    {
      ...placeOf(row),
      subnets: [...row.facts.subnets],
      ...(row.facts.projects ? { projects: [...row.facts.projects] } : {}),
      placement: row.role === 'source' ? placeNetwork(row.facts, row.overrides) : null,
    },
  )

const show = showRoute({
  path: '/networks/{id}',
  tag,
  summary: 'Show a network and where its cards land',
  schema: networkSchema,
  says: 'The network; its ETag is for If-Match',
  noun: 'network',
  find: ({ db }, id) => findNetwork(db, id),
  view: viewNetwork,
  version: (row) => row.version,
})

const write = defineRoute({
  method: 'put',
  path: '/networks/{id}/overrides',
  role: 'operator',
  tag,
  summary: "Replace a network's overrides: where its cards land on a target",
  request: { params: idParams, headers: ifMatchHeaders, body: jsonBody(overridesBody) },
  responses: { 200: json(networkSchema, 'They hold from the next placement on') },
})

const clear = defineRoute({
  method: 'delete',
  path: '/networks/{id}/overrides',
  role: 'operator',
  tag,
  summary: "Take a network's overrides away",
  request: { params: idParams, headers: ifMatchHeaders },
  responses: { 204: { description: 'Its cards land where they do by default' } },
})

export const requireNetwork = (row: NetworkLine | undefined, id: string): NetworkLine => {
  if (!row) throw notFound('network', id)
  return row
}

const replace = async (
  tx: Tx,
  asked: { id: string; ifMatch: string | undefined; overrides: NetworkOverrides; by: string },
): Promise<NetworkLine> => {
  const row = requireNetwork(await lockNetwork(tx, asked.id), asked.id)
  requireVersion(asked.ifMatch, row.version)
  if (row.role === 'target')
    throw problem('network-of-target', 'Only networks of a source are mapped; this one is of a target.')
  await writeNetworkOverrides(tx, row.id, asked.overrides)
  await wakeBlocked(tx, { network: { siteId: row.siteId, ref: row.ref } })
  await insertAuditEvent(tx, {
    type: 'network.overrides-changed',
    subject: { type: 'network', id: row.id },
    actor: asked.by,
    detail: { name: row.name, source: row.site, before: row.overrides, overrides: asked.overrides },
  })
  return requireNetwork(await findNetwork(tx, row.id), row.id)
}

/** `/networks/{id}` and its overrides; the lists are in instances.ts, which share their scan. */
export const networks = (deps: ApiDeps) =>
  show(deps)
    .openapi(write, async (c) => {
      const row = (await deps.db.begin((tx) =>
        replace(tx, {
          id: c.req.valid('param').id,
          ifMatch: c.req.valid('header')['if-match'],
          overrides: c.req.valid('json'),
          by: c.get('actor').name,
        }),
      )) as NetworkLine
      nudge(deps.db)
      c.header('ETag', etagOf(row.version))
      return c.json(viewNetwork(row), 200)
    })
    .openapi(clear, async (c) => {
      await deps.db.begin((tx) =>
        replace(tx, {
          id: c.req.valid('param').id,
          ifMatch: c.req.valid('header')['if-match'],
          overrides: {},
          by: c.get('actor').name,
        }),
      )
      nudge(deps.db)
      return c.body(null, 204)
    })

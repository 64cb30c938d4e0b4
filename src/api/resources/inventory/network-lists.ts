import { z } from '@hono/zod-openapi'
import {
  findNetwork,
  listNetworks,
  type NetworkLine,
  type ThingFilter,
} from '../../../../db/queries/sites/list-site-things.ts'
import type { ApiDeps } from '../../http/env.ts'
import type { Slices } from '../../http/filter-turns.ts'
import { defineRoute, idParams, json, newResource } from '../../http/route.ts'
import { networkFilter, type RowTest } from '../../lists/inventory-filter.ts'
import { scanFields, scanShape } from '../../lists/scan.ts'
import { wholePage } from '../../lists/whole-page.ts'
import { pageOf, pageQuery } from '../../wire/page.ts'
import { choiceShape, instancePage, instancePageSchema } from './instances.ts'
import { networkSchema, requireNetwork, viewNetwork } from './networks.ts'
import { siteFilter, siteQuery } from './site-things.ts'

const networkList = defineRoute({
  method: 'get',
  path: '/networks',
  role: 'viewer',
  tag: 'Networks',
  summary: 'List networks of sources and targets',
  request: {
    query: siteQuery.extend({
      filter: z.string().max(4_096).optional().openapi({
        description: 'CEL over the fields of a network.',
        example: 'type == "distributed" && path_dir(location) == "/Paris/network"',
      }),
    }),
  },
  responses: {
    200: json(pageOf(networkSchema, 'NetworkPage').extend(scanShape).openapi('NetworkPage'), 'A page'),
  },
})

const networkInstances = defineRoute({
  method: 'get',
  path: '/networks/{id}/instances',
  role: 'viewer',
  tag: 'Networks',
  summary: 'List the instances that are wired to a network',
  request: { params: idParams, query: pageQuery.extend(choiceShape) },
  responses: {
    200: json(instancePageSchema, 'A page'),
  },
})

/** Networks are few: a page of them is read whole, filtered or not. */
const networkPage = async (
  deps: ApiDeps,
  query: { limit: number; cursor?: string | undefined },
  filter: ThingFilter,
  { test, slices }: { test: RowTest<NetworkLine> | undefined; slices: Slices | undefined },
) => {
  const { outcome, ...page } = await wholePage<NetworkLine, z.infer<typeof networkSchema>>(deps, query, {
    name: 'networks',
    read: (after, limit) => listNetworks(deps.db, filter, { after, limit }),
    test,
    slices,
    item: viewNetwork,
  })
  return { ...page, ...scanFields(outcome) }
}

/** `/networks` as lists. */
export const networkLists = (deps: ApiDeps) =>
  newResource()
    .openapi(networkList, async (c) => {
      const query = c.req.valid('query')
      const asked = { actor: c.get('actor').name, filter: query.filter }
      const page = await deps.filters.ask(asked, (slices) =>
        networkPage(deps, query, siteFilter(query), { test: networkFilter(query.filter), slices }),
      )
      return c.json(page, 200)
    })
    .openapi(networkInstances, async (c) => {
      const { id } = c.req.valid('param')
      const network = requireNetwork(await findNetwork(deps.db, id), id)
      const wired = { siteId: network.siteId, ref: network.ref }
      const page = await instancePage(deps, c.req.valid('query'), {
        list: `network-${id}`,
        actor: c.get('actor').name,
        network: wired,
      })
      return c.json(page, 200)
    })

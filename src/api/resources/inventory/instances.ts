import { z } from '@hono/zod-openapi'
import type { Queryable } from '../../../../db/client.ts'
import { listFindings } from '../../../../db/queries/instances/findings.ts'
import {
  countInstances,
  findInstance,
  findInstances,
  type InstanceFilter,
  type InstanceLine,
  type JudgedLine,
  listForFilter,
  listInstances,
} from '../../../../db/queries/instances/list-instances.ts'
import { waiversFor } from '../../../../db/queries/instances/waiver-rows.ts'
import { findNetworksByRef } from '../../../../db/queries/sites/list-site-things.ts'
import { readinesses } from '../../../domain/inventory/rules/evaluate.ts'
import { nameSchema } from '../../../domain/job/kind.ts'
import type { ApiDeps } from '../../http/env.ts'
import type { Slices } from '../../http/filter-turns.ts'
import { defineRoute, idParams, json, newResource } from '../../http/route.ts'
import { type InstanceTest, instanceFilter } from '../../lists/inventory-filter.ts'
import { scan, scanFields, scanShape } from '../../lists/scan.ts'
import { pageOf, pageQuery, readCursor, toPage, uuidKey, writeCursor } from '../../wire/page.ts'
import { etagOf } from '../../wire/preconditions.ts'
import { requireInstance } from './instance-overrides.ts'
import { instanceDetail, instanceSummary, viewInstance, viewInstanceSummary } from './instance-view.ts'
import { presence, presenceFlag } from './site-things.ts'

const tag = 'Instances'

/** A part of the request's time for looking; the rest is for the answer. */
const listBudgetPart = 0.4
const countBudgetPart = 0.7

export const filterText = z.string().max(4_096).optional().openapi({
  description: 'CEL over the fields of an instance, as `effective` of its page shows them.',
  example: 'source == "paris" && has_tag("env", "prod") && memory > 8589934592',
})

export const choiceShape = {
  source: nameSchema.optional(),
  readiness: z.enum(readinesses).optional(),
  ignored: presence.openapi({ description: 'Whether those that are left out (templates, …) are meant.' }),
  gone: presence.openapi({ description: 'Whether those that are no longer there are meant.' }),
  migrated: presence.openapi({
    description:
      'Whether those are meant whose verified copy has taken their place, whatever became of the entry.',
  }),
  filter: filterText,
}

export const instancePageSchema = pageOf(instanceSummary, 'InstancePage')
  .extend(scanShape)
  .openapi('InstancePage')

const list = defineRoute({
  method: 'get',
  path: '/instances',
  role: 'viewer',
  tag,
  summary: 'List instances, the longest known first',
  description:
    'With a filter a page may hold fewer than `limit`, or none, while `next_cursor` is not null: the time of the ' +
    'request was over; go on with the cursor.',
  request: { query: pageQuery.extend(choiceShape) },
  responses: {
    200: json(instancePageSchema, 'A page'),
  },
})

const count = defineRoute({
  method: 'get',
  path: '/instances/:verb{:count}',
  role: 'viewer',
  tag,
  summary: 'How many instances a filter matches',
  description:
    'Looks at the whole fleet. `next_cursor` is null when it did; otherwise the time of the request was over: ' +
    'ask again with the cursor and add the numbers up.',
  request: { query: z.object({ ...choiceShape, cursor: pageQuery.shape.cursor }) },
  responses: {
    200: json(
      z
        .object({ matched: z.int(), ...scanShape, next_cursor: z.string().nullable() })
        .openapi('InstanceCount'),
      'The count',
    ),
  },
})

const show = defineRoute({
  method: 'get',
  path: '/instances/{id}',
  role: 'viewer',
  tag,
  summary: 'Show an instance: facts, overrides, what the rules find, where its cards land',
  request: { params: idParams },
  responses: { 200: json(instanceDetail, 'The instance; its ETag is that of its overrides') },
})

interface Choice {
  readonly source?: string | undefined
  readonly readiness?: string | undefined
  readonly ignored: z.infer<typeof presence>
  readonly gone: z.infer<typeof presence>
  readonly migrated: z.infer<typeof presence>
}

export const choiceOf = (query: Choice): InstanceFilter => ({
  source: query.source,
  readiness: query.readiness,
  ignored: presenceFlag(query.ignored),
  gone: presenceFlag(query.gone),
  migrated: presenceFlag(query.migrated),
})

/** One page of the instances that fit: found by as little of them as the filter needs, then read whole. */
const filteredPage = async (
  deps: ApiDeps,
  options: { list: string; limit: number; cursor: string | undefined; choice: InstanceFilter },
  { test, without }: InstanceTest,
  slices: Slices | undefined,
) => {
  const ids: string[] = []
  const outcome = await scan<JudgedLine>({
    clock: deps.clock,
    budgetMs: deps.limits.requestMs * listBudgetPart,
    slices,
    limit: options.limit,
    after: readCursor(options.list, uuidKey, options.cursor),
    read: (after, limit) => listForFilter(deps.db, options.choice, { after, limit, without }),
    test,
    onMatch: ({ id }) => ids.push(id),
  })
  const rows = await findInstances(deps.db, ids)
  const next = outcome.next === null ? null : writeCursor(options.list, outcome.next)
  return { items: rows.map(viewInstanceSummary), next_cursor: next, ...scanFields(outcome) }
}

const plainPage = async (
  deps: ApiDeps,
  { list: name, limit, cursor, choice }: Parameters<typeof filteredPage>[1],
) => {
  const after = readCursor(name, uuidKey, cursor)
  const rows = await listInstances(deps.db, choice, { after, limit: limit + 1 })
  const page = toPage(rows, { list: name, limit, key: (row) => row.id, item: viewInstanceSummary })
  return { ...page, scanned: page.items.length, error_count: 0, errors: [] }
}

/** A page of instances, filtered or not. `list` names whose cursors it takes. */
export const instancePage = (
  deps: ApiDeps,
  query: Choice & { limit: number; cursor?: string | undefined; filter?: string | undefined },
  { list: name, actor, ...narrower }: Partial<InstanceFilter> & { list: string; actor: string },
) => {
  const options = {
    list: name,
    limit: query.limit,
    cursor: query.cursor,
    choice: { ...choiceOf(query), ...narrower },
  }
  return deps.filters.ask({ actor, filter: query.filter }, (slices) => {
    const test = instanceFilter(query.filter)
    return test ? filteredPage(deps, options, test, slices) : plainPage(deps, options)
  })
}

const countPage = async (
  deps: ApiDeps,
  query: Choice & { cursor?: string | undefined },
  { test, without }: InstanceTest,
  slices: Slices | undefined,
) => {
  const outcome = await scan<JudgedLine>({
    clock: deps.clock,
    budgetMs: deps.limits.requestMs * countBudgetPart,
    slices,
    limit: Number.POSITIVE_INFINITY,
    after: readCursor('count', uuidKey, query.cursor),
    read: (after, limit) => listForFilter(deps.db, choiceOf(query), { after, limit, without }),
    test,
    onMatch: () => {},
  })
  const next = outcome.next === null ? null : writeCursor('count', outcome.next)
  return { matched: outcome.matched, ...scanFields(outcome), next_cursor: next }
}

const surroundings = async (db: Queryable, row: InstanceLine) => {
  const refs = row.facts.nics.map((nic) => nic.network_ref)
  const [findings, waivers, networks] = await Promise.all([
    listFindings(db, [row.id]),
    waiversFor(db, row.id),
    findNetworksByRef(db, row.siteId, refs),
  ])
  return { findings, waivers, networks }
}

/** `/instances`: lists, counts and pages; what changes them is in files of its own. */
export const instances = (deps: ApiDeps) =>
  newResource()
    .openapi(count, async (c) => {
      const query = c.req.valid('query')
      const actor = c.get('actor').name
      const answer = await deps.filters.ask({ actor, filter: query.filter }, async (slices) => {
        const test = instanceFilter(query.filter)
        if (test) return await countPage(deps, query, test, slices)
        readCursor('count', uuidKey, query.cursor)
        const matched = await countInstances(deps.db, choiceOf(query))
        return { matched, scanned: matched, error_count: 0, errors: [], next_cursor: null }
      })
      return c.json(answer, 200)
    })
    .openapi(list, async (c) =>
      c.json(
        await instancePage(deps, c.req.valid('query'), { list: 'instances', actor: c.get('actor').name }),
        200,
      ),
    )
    .openapi(show, async (c) => {
      const { id } = c.req.valid('param')
      const row = requireInstance(await findInstance(deps.db, id), id)
      c.header('ETag', etagOf(row.version))
      return c.json(viewInstance(row, await surroundings(deps.db, row)), 200)
    })

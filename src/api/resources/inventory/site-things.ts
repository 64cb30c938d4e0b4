import { z } from '@hono/zod-openapi'
import {
  listSiteThings,
  type ThingFacts,
  type ThingFilter,
  type ThingLine,
  type ThingTable,
} from '../../../../db/queries/sites/list-site-things.ts'
import { nameSchema } from '../../../domain/job/kind.ts'
import type { ApiDeps } from '../../http/env.ts'
import { defineRoute, json, newResource } from '../../http/route.ts'
import { pageOf, pageQuery, readCursor, toPage, uuidKey } from '../../wire/page.ts'
import { problem } from '../../wire/problem.ts'
import { timestamp } from '../../wire/schemas.ts'
import { factsToWire } from '../../wire/wire.ts'

/** `false` unless asked for: what counts now. */
export const presence = z.enum(['false', 'true', 'any']).default('false')

export const presenceFlag = (asked: z.infer<typeof presence>): boolean | undefined =>
  asked === 'any' ? undefined : asked === 'true'

const goneQuery = presence.openapi({ description: 'Whether those that are no longer there are meant.' })

export const siteQuery = pageQuery.extend({
  source: nameSchema.optional(),
  target: nameSchema.optional(),
  gone: goneQuery,
})

/** A list of what sites have is asked for one source, one target, or all. */
export const siteFilter = (query: {
  source?: string | undefined
  target?: string | undefined
  gone: z.infer<typeof presence>
}): ThingFilter => {
  const { source, target } = query
  if (source !== undefined && target !== undefined)
    throw problem('validation-failed', 'Ask for a source or for a target, not for both.', {
      field: 'target',
      errors: [{ field: 'target', message: 'must not be given with source' }],
    })
  const gone = presenceFlag(query.gone)
  if (source !== undefined) return { role: 'source', site: source, gone }
  return target === undefined ? { gone } : { role: 'target', site: target, gone }
}

/** Where a thing belongs, and since when it is known; common to all of them. */
export const placeShape = {
  id: z.uuid(),
  source: z.string().nullable(),
  target: z.string().nullable(),
  revision: z.int().openapi({ description: "The site's revision that changed it last." }),
  first_seen_at: timestamp,
  changed_at: timestamp,
  gone_at: timestamp.nullable(),
}

export const placeOf = (row: ThingLine<unknown>) => ({
  source: row.role === 'source' ? row.site : null,
  target: row.role === 'target' ? row.site : null,
})

const hostShape = {
  ref: z.string(),
  name: z.string(),
  cluster: z.string(),
  datacenter: z.string(),
  state: z.enum(['connected', 'disconnected', 'not-responding', 'maintenance']),
  cpu_model: z.string(),
  cpu_class: z.string(),
  cpus: z.number(),
  memory: z.number(),
  cpus_used: z.number(),
  memory_used: z.number(),
  version: z.string(),
}

/** A copy of what a fact says, as an answer holds it. */
export const projectsShape = z.array(z.string()).optional().openapi({
  description: 'Projects that it belongs to, by name or ref; absent: it is for all of them.',
})

const storageShape = {
  ref: z.string(),
  name: z.string(),
  type: z.string(),
  capacity: z.number(),
  free: z.number(),
  accessible: z.boolean(),
  hosts: z.array(z.string()),
  projects: projectsShape,
}

const projectShape = {
  ref: z.string(),
  name: z.string(),
  limits: z.record(z.string(), z.number()),
  used: z.record(z.string(), z.number()),
}

interface Noun<Table extends ThingTable> {
  readonly table: Table
  readonly path: '/hosts' | '/storage' | '/projects'
  readonly tag: string
  readonly schema: string
  readonly summary: string
  readonly shape: { readonly [Field in keyof ThingFacts[Table]]: z.ZodType }
}

/** One list of what sites have: the facts as they were read, and where they belong. */
const thingList = <Table extends ThingTable>(noun: Noun<Table>) => {
  const item = z.object({ ...placeShape, ...noun.shape }).openapi(noun.schema)
  const list = defineRoute({
    method: 'get',
    path: noun.path,
    role: 'viewer',
    tag: noun.tag,
    summary: noun.summary,
    request: { query: siteQuery },
    responses: { 200: json(pageOf(item, `${noun.schema}Page`), 'A page') },
  })
  return (deps: ApiDeps) =>
    newResource().openapi(list, async (c) => {
      const query = c.req.valid('query')
      const rows = await listSiteThings(deps.db, noun.table, siteFilter(query), {
        after: readCursor(noun.table, uuidKey, query.cursor),
        limit: query.limit + 1,
      })
      const page = toPage(rows, {
        list: noun.table,
        limit: query.limit,
        key: (row) => row.id,
        item: (row) =>
          factsToWire<z.ZodObject, object, object>(item, { facts: row.facts, row }, placeOf(row)),
      })
      return c.json(page as never, 200)
    })
}

export const hosts = thingList({
  table: 'host',
  path: '/hosts',
  tag: 'Hosts',
  schema: 'Host',
  summary: 'List the hosts of sources and targets',
  shape: hostShape,
})

export const storage = thingList({
  table: 'storage',
  path: '/storage',
  tag: 'Storage',
  schema: 'Storage',
  summary: 'List datastores and pools',
  shape: storageShape,
})

export const projects = thingList({
  table: 'project',
  path: '/projects',
  tag: 'Projects',
  schema: 'Project',
  summary: 'List the projects of targets',
  shape: projectShape,
})

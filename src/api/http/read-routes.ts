import type { OpenAPIHono, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { nameKey, pageOf, pageQuery, readCursor, toPage, uuidKey } from '../wire/page.ts'
import { etagOf } from '../wire/preconditions.ts'
import { notFound } from '../wire/problem.ts'
import type { ApiDeps, ApiEnv, Role } from './env.ts'
import { defineRoute, idParams, json, newResource } from './route.ts'

type App = OpenAPIHono<ApiEnv>

interface Words {
  readonly path: `/${string}`
  readonly tag: string
  readonly summary: string
  readonly description?: string
  /** `viewer` unless it says otherwise. */
  readonly role?: Role
}

/** Where a page begins, for lists that go back from the newest and for those that go on by name. */
interface Place {
  readonly before: string | undefined
  readonly after: string | undefined
  readonly limit: number
}

interface ListSpec<Row, Item extends z.ZodType, Query extends z.ZodRawShape> extends Words {
  readonly item: Item
  /** The name of a page in the document, and what it says of it. */
  readonly page: string
  readonly says: string
  readonly query?: Query
  /** What the list is sorted by; `id` unless it says otherwise. */
  readonly sortedBy?: 'name'
  readonly read: (deps: ApiDeps, query: z.output<z.ZodObject<Query>>, at: Place) => Promise<readonly Row[]>
  readonly view: (row: Row, deps: ApiDeps) => z.output<Item>
}

const described = ({ path, tag, summary, description, role = 'viewer' }: Words) => ({
  method: 'get' as const,
  ...{ path, role, tag, summary },
  ...(description === undefined ? {} : { description }),
})

/** A list in pages, as a part of a resource. */
export const listRoute = <
  Row extends { readonly id: string; readonly name?: string },
  Item extends z.ZodType,
  Query extends z.ZodRawShape = Record<never, never>,
>(
  spec: ListSpec<Row, Item, Query>,
) => {
  const route = defineRoute({
    ...described(spec),
    request: { query: pageQuery.extend(spec.query ?? {}) },
    responses: { 200: json(pageOf(spec.item, spec.page), spec.says) },
  })
  const list = spec.path.slice(1)
  const key = (row: Row): string => (spec.sortedBy === 'name' ? (row.name ?? '') : row.id)
  return (deps: ApiDeps, app: App = newResource()): App => {
    const answer = async (c: Context<ApiEnv>) => {
      const query = c.req.valid('query' as never) as z.output<z.ZodObject<Query>> & z.output<typeof pageQuery>
      const { limit, cursor } = query
      const place = readCursor(list, spec.sortedBy === 'name' ? nameKey : uuidKey, cursor)
      const rows = await spec.read(deps, query, { before: place, after: place, limit: limit + 1 })
      return c.json(toPage(rows, { list, limit, key, item: (row) => spec.view(row, deps) }), 200)
    }
    return app.openapi(route, answer as never) as App
  }
}

interface ShowSpec<Row, Schema extends z.ZodType> extends Words {
  readonly schema: Schema
  readonly says: string
  /** What it is called where there is none. */
  readonly noun: string
  /** How it is named in the address; `id` unless it says otherwise. */
  readonly params?: z.ZodObject
  readonly find: (deps: ApiDeps, key: string) => Promise<Row | undefined>
  readonly view: (row: Row, deps: ApiDeps) => z.output<Schema> | Promise<z.output<Schema>>
  /** Of the ETag, for what can be changed. */
  readonly version?: (row: Row) => string | number
}

/** One thing, with its ETag where it can be changed, as a part of a resource. */
export const showRoute = <Row, Schema extends z.ZodType>(spec: ShowSpec<Row, Schema>) => {
  const route = defineRoute({
    ...described(spec),
    request: { params: spec.params ?? idParams },
    responses: { 200: json(spec.schema, spec.says) },
  })
  return (deps: ApiDeps, app: App = newResource()): App => {
    const answer = async (c: Context<ApiEnv>) => {
      const [key = ''] = Object.values(c.req.valid('param' as never) as Record<string, string>)
      const row = await spec.find(deps, key)
      if (!row) throw notFound(spec.noun, key)
      if (spec.version) c.header('ETag', etagOf(spec.version(row)))
      return c.json((await spec.view(row, deps)) as object, 200)
    }
    return app.openapi(route, answer as never) as App
  }
}

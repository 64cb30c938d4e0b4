import { z } from '@hono/zod-openapi'
import type { Queryable } from '../../../../db/client.ts'
import { insertAuditEvent } from '../../../../db/queries/events/insert-audit-event.ts'
import {
  countTokenUse,
  deleteLimit,
  type LimitRow,
  listTokenHolders,
  listTokenLine,
  lockLimit,
  readLimitRows,
  writeLimit,
} from '../../../../db/queries/tokens/limits.ts'
import { parseToken, tokenClasses, tokenLimit } from '../../../domain/job/token.ts'
import { nudge } from '../../../ledger/jobs/nudge.ts'
import type { ApiDeps } from '../../http/env.ts'
import {
  defineRoute,
  ifMatchHeaders,
  json,
  jsonBody,
  moment,
  momentOrNull,
  newResource,
} from '../../http/route.ts'
import { etagOf, requireVersion } from '../../wire/preconditions.ts'
import { notFound } from '../../wire/problem.ts'
import { timestamp } from '../../wire/schemas.ts'

const tag = 'Limits'
const shownMax = 100

const shape = {
  name: z.string().openapi({ description: 'A class, or class/thing.', example: 'source-host-reads/esx-04' }),
  title: z.string(),
  capacity: z.int(),
  origin: z.enum(['set', 'class', 'default']).openapi({ description: 'Where the capacity comes from.' }),
  holds: z.int(),
  waiters: z.int(),
  updated_by: z.string().nullable(),
  updated_at: timestamp.nullable(),
}
const limitSchema = z.object(shape).openapi('Limit')
const limitDetail = z
  .object({
    ...shape,
    holders: z.array(z.object({ job_id: z.uuid(), since: timestamp })),
    line: z
      .array(z.object({ job_id: z.uuid(), priority: z.int(), since: timestamp.nullable() }))
      .openapi({ description: 'Who waits, in the order of admission.' }),
  })
  .openapi('LimitDetail')

const params = z.object({ name: z.string().max(200) })

const list = defineRoute({
  method: 'get',
  path: '/limits',
  role: 'viewer',
  tag,
  summary: 'Admission limits: every class, and every thing that is set, held or waited for',
  request: {},
  responses: { 200: json(z.object({ items: z.array(limitSchema) }).openapi('Limits'), 'All limits') },
})

const show = defineRoute({
  method: 'get',
  path: '/limits/{name}',
  role: 'viewer',
  tag,
  summary: 'Show a limit, who holds it and who waits',
  request: { params },
  responses: { 200: json(limitDetail, 'The limit; its ETag is for If-Match') },
})

const write = defineRoute({
  method: 'put',
  path: '/limits/{name}',
  role: 'operator',
  tag,
  summary: 'Set a limit; it holds from the next claim on',
  request: {
    params,
    headers: ifMatchHeaders,
    body: jsonBody(
      z
        .strictObject({ capacity: z.int().min(0).max(100_000) })
        .openapi('LimitValue', { example: { capacity: 4 } }),
    ),
  },
  responses: { 200: json(limitDetail, 'It is set') },
})

const remove = defineRoute({
  method: 'delete',
  path: '/limits/{name}',
  role: 'operator',
  tag,
  summary: 'Go back to the limit of the class, or to the default',
  request: { params, headers: ifMatchHeaders },
  responses: { 204: { description: 'It is no longer set' } },
})

const classOf = (name: string): string | undefined =>
  Object.hasOwn(tokenClasses, name) ? name : parseToken(name)?.class

const required = (name: string): string => {
  if (classOf(name) === undefined) throw notFound('limit', name)
  return name
}

const versionOf = (row: LimitRow | undefined): string =>
  row ? `${row.updatedAt.getTime()}-${row.capacity}` : '0'

type Uses = ReadonlyMap<string, { readonly holds: number; readonly waiters: number }>

const view = (name: string, rows: ReadonlyMap<string, LimitRow>, uses: Uses): z.infer<typeof limitSchema> => {
  const kind = classOf(name) ?? name
  const row = rows.get(name)
  const capacities = new Map([...rows.values()].map((set) => [set.name, set.capacity]))
  const fallback = tokenClasses[kind]?.limit ?? 1
  return {
    name,
    title: tokenClasses[kind]?.title ?? kind,
    capacity: kind === name ? (row?.capacity ?? fallback) : tokenLimit(name, capacities),
    origin: row ? 'set' : rows.has(kind) ? 'class' : 'default',
    holds: uses.get(name)?.holds ?? 0,
    waiters: uses.get(name)?.waiters ?? 0,
    updated_by: row?.updatedBy ?? null,
    updated_at: momentOrNull(row?.updatedAt ?? null),
  }
}

const read = async (db: Queryable) => {
  const [rows, uses] = await Promise.all([readLimitRows(db), countTokenUse(db)])
  return {
    rows: new Map(rows.map((row) => [row.name, row])),
    uses: new Map(uses.map((use) => [use.name, use])),
  }
}

const detail = async (db: Queryable, name: string): Promise<z.infer<typeof limitDetail>> => {
  const { rows, uses } = await read(db)
  const [holders, line] = await Promise.all([
    listTokenHolders(db, name, shownMax),
    listTokenLine(db, name, shownMax),
  ])
  return {
    ...view(name, rows, uses),
    holders: holders.map((holder) => ({ job_id: holder.jobId, since: moment(holder.acquiredAt) })),
    line: line.map((waiter) => ({
      job_id: waiter.jobId,
      priority: waiter.priority,
      since: momentOrNull(waiter.since),
    })),
  }
}

export const limits = (deps: ApiDeps) =>
  newResource()
    .openapi(list, async (c) => {
      const { rows, uses } = await read(deps.db)
      const names = new Set([...Object.keys(tokenClasses), ...rows.keys(), ...uses.keys()])
      return c.json({ items: [...names].sort().map((name) => view(name, rows, uses)) }, 200)
    })
    .openapi(show, async (c) => {
      const name = required(c.req.valid('param').name)
      const row = (await readLimitRows(deps.db)).find((set) => set.name === name)
      c.header('ETag', etagOf(versionOf(row)))
      return c.json(await detail(deps.db, name), 200)
    })
    .openapi(write, async (c) => {
      const name = required(c.req.valid('param').name)
      const { capacity } = c.req.valid('json')
      const by = c.get('actor').name
      const row = (await deps.db.begin(async (tx) => {
        const before = await lockLimit(tx, name)
        requireVersion(c.req.valid('header')['if-match'], versionOf(before))
        await insertAuditEvent(tx, {
          type: 'limit.changed',
          subject: { type: 'limit', id: name },
          actor: by,
          detail: { from: before?.capacity ?? null, to: capacity },
        })
        return await writeLimit(tx, { name, capacity, by })
      })) as LimitRow
      nudge(deps.db)
      c.header('ETag', etagOf(versionOf(row)))
      return c.json(await detail(deps.db, name), 200)
    })
    .openapi(remove, async (c) => {
      const name = required(c.req.valid('param').name)
      await deps.db.begin(async (tx) => {
        const before = await lockLimit(tx, name)
        requireVersion(c.req.valid('header')['if-match'], versionOf(before))
        if (!(await deleteLimit(tx, name))) return
        await insertAuditEvent(tx, {
          type: 'limit.changed',
          subject: { type: 'limit', id: name },
          actor: c.get('actor').name,
          detail: { from: before?.capacity ?? null, to: null },
        })
      })
      nudge(deps.db)
      return c.body(null, 204)
    })

import { z } from '@hono/zod-openapi'
import type { Queryable } from '../../../db/client.ts'
import { lockEntry } from '../../../db/queries/entry-rows.ts'
import { type EntryDetail, findEntry, listEntries } from '../../../db/queries/list-entries.ts'
import { nameSchema } from '../../domain/job/kind.ts'
import { entryStates } from '../../domain/migration/entry.ts'
import { removeEntry } from '../../migration/entry-verbs.ts'
import type { ApiDeps } from '../env.ts'
import { pageOf, pageQuery, readCursor, toPage, uuidKey } from '../page.ts'
import { etagOf, requireVersion } from '../preconditions.ts'
import { notFound } from '../problem.ts'
import { defineRoute, idParams, ifMatchHeaders, json, newResource } from '../route.ts'
import { entrySchema, entrySummary, readEntry, viewEntrySummary } from './queue-answer.ts'

export const queueTag = 'Queue'

/** Which entries are meant. */
export const entryChoice = {
  batch: nameSchema.optional(),
  state: z.enum(entryStates).optional(),
  source: nameSchema.optional(),
  target: nameSchema.optional(),
}

const list = defineRoute({
  method: 'get',
  path: '/queue',
  role: 'viewer',
  tag: queueTag,
  summary: 'List entries: each is the journey of one instance in one batch',
  request: { query: pageQuery.extend({ ...entryChoice, instance_id: z.uuid().optional() }) },
  responses: { 200: json(pageOf(entrySummary, 'QueuePage'), 'A page, in the order they were made') },
})

const show = defineRoute({
  method: 'get',
  path: '/queue/{id}',
  role: 'viewer',
  tag: queueTag,
  summary: 'Show an entry: where it is, why, what it waits for, what a person can do',
  request: { params: idParams },
  responses: { 200: json(entrySchema, 'The entry; its ETag is for If-Match') },
})

const remove = defineRoute({
  method: 'delete',
  path: '/queue/{id}',
  role: 'operator',
  tag: queueTag,
  summary: 'Take an entry off the list; what it made stays',
  description:
    'Refused while it is migrated, a job is at it, or its source is off on its account: cancel it first.',
  request: { params: idParams, headers: ifMatchHeaders },
  responses: { 204: { description: 'Taken off' } },
})

export const requireEntry = async (db: Queryable, id: string): Promise<EntryDetail> => {
  const row = await findEntry(db, id)
  if (!row) throw notFound('entry', id)
  return row
}

/** `/queue`: list, show, remove. Verbs are in queue-verbs.ts. */
export const queue = (deps: ApiDeps) =>
  newResource()
    .openapi(list, async (c) => {
      const { limit, cursor, instance_id: instanceId, ...filter } = c.req.valid('query')
      const after = readCursor('queue', uuidKey, cursor)
      const rows = await listEntries(deps.db, { ...filter, instanceId }, { after, limit: limit + 1 })
      const page = toPage(rows, { list: 'queue', limit, key: (row) => row.id, item: viewEntrySummary })
      return c.json(page, 200)
    })
    .openapi(show, async (c) => {
      const row = await requireEntry(deps.db, c.req.valid('param').id)
      c.header('ETag', etagOf(row.version))
      return c.json(await readEntry(deps.db, row, deps.leaseMs), 200)
    })
    .openapi(remove, async (c) => {
      const { id } = c.req.valid('param')
      const ifMatch = c.req.valid('header')['if-match']
      const by = c.get('actor').name
      await deps.db.begin(async (tx) => {
        requireVersion(ifMatch, (await lockEntry(tx, id))?.version ?? 0)
        await removeEntry(tx, { id, by })
      })
      return c.body(null, 204)
    })

import { z } from '@hono/zod-openapi'
import type { Queryable } from '../../../../db/client.ts'
import { type JudgedEntry, listEntriesForFilter } from '../../../../db/queries/entries/entries-for-filter.ts'
import { lockEntry } from '../../../../db/queries/entries/entry-rows.ts'
import {
  type EntryDetail,
  type EntryFilter,
  findEntries,
  findEntry,
  listEntries,
} from '../../../../db/queries/entries/list-entries.ts'
import { nameSchema } from '../../../domain/job/kind.ts'
import { entryStates } from '../../../domain/migration/entry/entry.ts'
import { nudge } from '../../../ledger/jobs/nudge.ts'
import { removeEntry } from '../../../migration/entry/entry-verbs.ts'
import type { ApiDeps } from '../../http/env.ts'
import type { Slices } from '../../http/filter-turns.ts'
import { defineRoute, idParams, ifMatchHeaders, json, newResource } from '../../http/route.ts'
import { entryFilter, type FleetTest } from '../../lists/inventory-filter.ts'
import { scan, scanFields, scanShape } from '../../lists/scan.ts'
import { pageOf, pageQuery, readCursor, toPage, uuidKey, writeCursor } from '../../wire/page.ts'
import { etagOf, requireVersion } from '../../wire/preconditions.ts'
import { notFound } from '../../wire/problem.ts'
import { confirmFinished } from '../../wire/schemas.ts'
import { entrySchema, entrySummary, readEntry, viewEntrySummary } from './queue-view.ts'

export const queueTag = 'Queue'

/** Which entries are meant. */
export const entryChoice = {
  batch: nameSchema.optional(),
  state: z.enum(entryStates).optional(),
  source: nameSchema.optional(),
  target: nameSchema.optional(),
  filter: z.string().max(4_096).optional().openapi({
    description: 'CEL over the fields of an entry and of its instance as it was taken.',
    example: 'state == "idle" && stage == "final" && has_tag("env", "prod")',
  }),
}

/** A part of the request's time for looking; the rest is for the answer. */
const listBudgetPart = 0.4

const list = defineRoute({
  method: 'get',
  path: '/queue',
  role: 'viewer',
  tag: queueTag,
  summary: 'List entries: each is the journey of one instance in one batch',
  description:
    'With a filter a page may hold fewer than `limit`, or none, while `next_cursor` is not null: the time of the ' +
    'request was over; go on with the cursor.',
  request: { query: pageQuery.extend({ ...entryChoice, instance_id: z.uuid().optional() }) },
  responses: {
    200: json(
      pageOf(entrySummary, 'QueuePage').extend(scanShape).openapi('QueuePage'),
      'A page, in the order they were made',
    ),
  },
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
  summary: 'Take an entry off the list',
  description:
    'Refused while it is migrated, a job is at it, or its source is off on its account: cancel it first. Of a finished ' +
    'entry the machine stays, and its source stays off: say `confirm_finished=1`. One that has a copy on its target goes ' +
    'with `cleanup=true` alone: the copy is destroyed first.',
  request: {
    params: idParams,
    headers: ifMatchHeaders,
    query: z.object({
      confirm_finished: confirmFinished.query,
      cleanup: z.enum(['true', 'false']).optional(),
    }),
  },
  responses: {
    204: { description: 'Taken off' },
    202: json(
      z.object({ removing: z.literal(true) }).openapi('EntryRemoving'),
      'Its copy is destroyed first; then it goes',
    ),
  },
})

export const requireEntry = async (db: Queryable, id: string): Promise<EntryDetail> => {
  const row = await findEntry(db, id)
  if (!row) throw notFound('entry', id)
  return row
}

interface PageAsk {
  readonly limit: number
  readonly cursor: string | undefined
  readonly choice: EntryFilter
}

/** Found by as little of them as the filter needs, then read whole. */
const filteredPage = async (
  deps: ApiDeps,
  { limit, cursor, choice }: PageAsk,
  { test, without }: FleetTest<JudgedEntry>,
  slices: Slices | undefined,
) => {
  const ids: string[] = []
  const outcome = await scan<JudgedEntry>({
    clock: deps.clock,
    budgetMs: deps.limits.requestMs * listBudgetPart,
    slices,
    limit,
    after: readCursor('queue', uuidKey, cursor),
    read: (after, rows) => listEntriesForFilter(deps.db, choice, { after, limit: rows, without }),
    test,
    onMatch: ({ id }) => ids.push(id),
  })
  const rows = await findEntries(deps.db, ids)
  const next = outcome.next === null ? null : writeCursor('queue', outcome.next)
  return { items: rows.map(viewEntrySummary), next_cursor: next, ...scanFields(outcome) }
}

const plainPage = async (deps: ApiDeps, { limit, cursor, choice }: PageAsk) => {
  const after = readCursor('queue', uuidKey, cursor)
  const rows = await listEntries(deps.db, choice, { after, limit: limit + 1 })
  const page = toPage(rows, { list: 'queue', limit, key: (row) => row.id, item: viewEntrySummary })
  return { ...page, scanned: page.items.length, error_count: 0, errors: [] }
}

/** `/queue`: list, show, remove. Verbs are in queue-verbs.ts and queue-bulk.ts. */
export const queue = (deps: ApiDeps) =>
  newResource()
    .openapi(list, async (c) => {
      const { limit, cursor, instance_id: instanceId, filter, ...choice } = c.req.valid('query')
      const asked = { limit, cursor, choice: { ...choice, instanceId } }
      const page = await deps.filters.ask({ actor: c.get('actor').name, filter }, (slices) => {
        const test = entryFilter(filter)
        return test ? filteredPage(deps, asked, test, slices) : plainPage(deps, asked)
      })
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
      const { confirm_finished: confirmedFinished, cleanup } = c.req.valid('query')
      const outcome = await deps.db.begin(async (tx) => {
        requireVersion(ifMatch, (await lockEntry(tx, id))?.version ?? 0)
        return removeEntry(tx, { id, by, confirmedFinished, cleanup: cleanup === 'true' })
      })
      if (outcome === 'gone') return c.body(null, 204)
      nudge(deps.db)
      return c.json({ removing: true as const }, 202)
    })

import { z } from '@hono/zod-openapi'
import type { Queryable } from '../../../../db/client.ts'
import { findBatch } from '../../../../db/queries/batches/batch-rows.ts'
import { listBatches } from '../../../../db/queries/batches/list-batches.ts'
import type { BatchRow } from '../../../../db/schema/migration.ts'
import { nameSchema } from '../../../domain/job/kind.ts'
import { batchStates } from '../../../domain/migration/batch/batch-table.ts'
import { nudge } from '../../../ledger/jobs/nudge.ts'
import { ScriptChecks } from '../../../migration/place/script-checks.ts'
import type { ApiDeps } from '../../http/env.ts'
import { once } from '../../http/idempotency.ts'
import { listRoute, showRoute } from '../../http/read-routes.ts'
import { defineRoute, ifMatchHeaders, json, jsonBody } from '../../http/route.ts'
import { etagOf } from '../../wire/preconditions.ts'
import { notFound, problem } from '../../wire/problem.ts'
import { confirmFinished } from '../../wire/schemas.ts'
import { removeBatch, removingBatch } from './batch-deletion.ts'
import { changeBatch, createBatch } from './batch-edit.ts'
import { checkExpressions } from './batch-validation.ts'
import { batchBody, batchSchema, batchSummary, readBatch, viewBatchSummary } from './batch-view.ts'

export const batchTag = 'Batches'
export const batchParams = z.object({ name: nameSchema })

export const requireBatch = async (db: Queryable, name: string): Promise<BatchRow> => {
  const row = await findBatch(db, name)
  if (!row) throw notFound('batch', name)
  return row
}

const list = listRoute({
  path: '/batches',
  tag: batchTag,
  summary: 'List batches by name, with how many entries are in which state',
  query: { state: z.enum(batchStates).optional() },
  item: batchSummary,
  page: 'BatchPage',
  says: 'A page',
  sortedBy: 'name',
  read: ({ db }, { state }, at) => listBatches(db, { state }, at),
  view: viewBatchSummary,
})

const show = showRoute({
  path: '/batches/{name}',
  tag: batchTag,
  summary: 'Show a batch: settings, windows, how far it has come',
  params: batchParams,
  schema: batchSchema,
  says: 'The batch; its ETag is for If-Match',
  noun: 'batch',
  find: ({ db }, name) => findBatch(db, name),
  view: (row, { db }) => readBatch(db, row),
  version: (row) => row.version,
})

const create = defineRoute({
  method: 'post',
  path: '/batches',
  role: 'operator',
  tag: batchTag,
  summary: 'Define a batch',
  description:
    'Its instances are searched for by a job that is stored with it; `matched` says how many they are. Nothing is ' +
    'migrated before `:start`.',
  request: { body: jsonBody(batchBody) },
  responses: { 201: json(batchSchema, 'Defined') },
})

const change = defineRoute({
  method: 'put',
  path: '/batches/{name}',
  role: 'operator',
  tag: batchTag,
  summary: 'Change the settings of a batch, all of them at once',
  description:
    'Once it has started, some settings are fixed and some wait for entries: every refusal names the field, the ' +
    'reason and until when. An approval of its plan is void with any change.',
  request: { params: batchParams, headers: ifMatchHeaders, body: jsonBody(batchBody) },
  responses: { 200: json(batchSchema, 'Changed') },
})

const remove = defineRoute({
  method: 'delete',
  path: '/batches/{name}',
  role: 'operator',
  tag: batchTag,
  summary: 'Remove a batch that is defined or finished',
  description:
    'Refused while anything of it is under way, or while an entry has a copy on its target. Machines that were ' +
    'migrated and certificates stay; what was migrated by this batch is forgotten, which needs `confirm_finished`. A ' +
    'large one goes in parts: 202 says that there is more; send the request again, with `finished_left`, until 204.',
  request: {
    params: batchParams,
    headers: ifMatchHeaders,
    query: z.object({ confirm_finished: confirmFinished.query }),
  },
  responses: {
    202: json(removingBatch, 'A part is removed; send it again'),
    204: { description: 'Removed' },
  },
})

/** A part of the request's time for looking at a script; the rest is for storing it. */
const scriptPart = 0.7

/** `/batches`: everything but the verbs, plans and instances, which are in files of their own. */
export const batches = (deps: ApiDeps) => {
  const scripts = new ScriptChecks()
  const checkScript = async (script: string): Promise<void> => {
    const time = AbortSignal.timeout(deps.limits.requestMs * scriptPart)
    await scripts.check(script, time).catch((error: unknown) => {
      if (error !== time.reason) throw error
      throw problem('deadline-passed', 'The placement script could not be looked at in time.', {
        retryAfterSeconds: 2,
      })
    })
  }
  return show(deps, list(deps))
    .openapi(create, async (c) => {
      const body = c.req.valid('json')
      const by = c.get('actor').name
      checkExpressions(body)
      await checkScript(body.config.placement_scriptlet)
      const answer = await once(c, deps, async (tx) => {
        const row = await createBatch(tx, body, by)
        return {
          status: 201 as const,
          body: await readBatch(tx, row),
          headers: { Location: `/v1/batches/${row.name}`, ETag: etagOf(row.version) },
        }
      })
      nudge(deps.db)
      return c.json(answer.body, 201)
    })
    .openapi(change, async (c) => {
      const body = c.req.valid('json')
      const { name } = c.req.valid('param')
      const ifMatch = c.req.valid('header')['if-match']
      checkExpressions(body)
      await checkScript(body.config.placement_scriptlet)
      const row = (await deps.db.begin((tx) =>
        changeBatch(tx, { name, body, ifMatch, by: c.get('actor').name }),
      )) as BatchRow
      nudge(deps.db)
      c.header('ETag', etagOf(row.version))
      return c.json(await readBatch(deps.db, row), 200)
    })
    .openapi(remove, async (c) => {
      const left = await removeBatch(deps, {
        name: c.req.valid('param').name,
        ifMatch: c.req.valid('header')['if-match'],
        by: c.get('actor').name,
        confirmedFinished: c.req.valid('query').confirm_finished,
      })
      return left === undefined ? c.body(null, 204) : c.json(left, 202)
    })
}

import { z } from '@hono/zod-openapi'
import type { Queryable, Tx } from '../../../../db/client.ts'
import {
  findLivePlanning,
  findPlan,
  listPlanItems,
  listPlans,
  markApproved,
  type PlanRow,
} from '../../../../db/queries/batches/batch-plan-rows.ts'
import { listWindows } from '../../../../db/queries/batches/batch-rows.ts'
import { approveBatch } from '../../../../db/queries/batches/write-batch.ts'
import { insertAuditEvent } from '../../../../db/queries/events/insert-audit-event.ts'
import { readClock } from '../../../../db/queries/fleet/read-clock.ts'
import { type PlanItem, planStandings } from '../../../domain/migration/batch/plan-document.ts'
import { nudge } from '../../../ledger/jobs/nudge.ts'
import { viewBatch } from '../../../migration/entry/batch-view.ts'
import { settingsDigest } from '../../../migration/plan/plan-batch.ts'
import type { ApiDeps } from '../../http/env.ts'
import { once } from '../../http/idempotency.ts'
import { defineRoute, json, jsonBody, moment, newResource } from '../../http/route.ts'
import { pageOf, pageQuery, readCursor, toPage, uuidKey } from '../../wire/page.ts'
import { etagOf } from '../../wire/preconditions.ts'
import { notFound, problem } from '../../wire/problem.ts'
import { type AcceptedView, acceptedSchema, anything, timestamp } from '../../wire/schemas.ts'
import { enqueueOne } from '../inventory/site-jobs.ts'
import { lockNamedBatch } from './batch-edit.ts'
import { batchSchema, readBatch } from './batch-view.ts'
import { batchParams, batchTag, requireBatch } from './batches.ts'

const summaryShape = {
  id: z.uuid(),
  digest: z
    .string()
    .openapi({ description: 'Of what was decided: two plans with the same one say the same.' }),
  version: z.int().openapi({ description: 'The version of the batch that was planned.' }),
  planned_at: timestamp,
  created_by: z.string(),
  totals: anything,
  approved: z.object({ by: z.string(), at: timestamp }).nullable(),
}

const planSummary = z.object(summaryShape).openapi('PlanSummary')

const planSchema = z
  .object({
    ...summaryShape,
    diff: anything.nullable().openapi({ description: 'Against the plan that was approved last.' }),
    items: z.array(anything),
    items_left_out: z.int().openapi({ description: 'Counted in `totals`, but not kept one by one.' }),
    next_cursor: z.string().nullable(),
  })
  .openapi('Plan')

export type PlanSummary = z.infer<typeof planSummary>
export type PlanView = z.infer<typeof planSchema>

const plan = defineRoute({
  method: 'post',
  path: '/batches/{name}/:verb{:plan}',
  role: 'operator',
  tag: batchTag,
  summary: 'Work out what a start would do, instance by instance; nothing is changed',
  description:
    'A job asks the real planner in transactions that are taken back. Its result names the plan: placements, all ' +
    'reasons of blocks, conflicts, bytes, tokens, windows, and times from the history of this installation.',
  request: { params: batchParams },
  responses: { 202: json(acceptedSchema, 'A job does it; its result has `plan_id`') },
})

const list = defineRoute({
  method: 'get',
  path: '/batches/{name}/plans',
  role: 'viewer',
  tag: batchTag,
  summary: 'List the plans of a batch, the newest first',
  request: { params: batchParams, query: pageQuery },
  responses: { 200: json(pageOf(planSummary, 'PlanPage'), 'A page') },
})

const show = defineRoute({
  method: 'get',
  path: '/batches/{name}/plans/{id}',
  role: 'viewer',
  tag: batchTag,
  summary: 'Show a plan; its instances come in pages',
  request: {
    params: batchParams.extend({ id: z.uuid() }),
    query: pageQuery.extend({ standing: z.enum(planStandings).optional() }),
  },
  responses: { 200: json(planSchema, 'The plan') },
})

const approve = defineRoute({
  method: 'post',
  path: '/batches/{name}/:verb{:approve}',
  role: 'operator',
  tag: batchTag,
  summary: 'Approve a plan; any later change of the settings voids it',
  request: {
    params: batchParams,
    body: jsonBody(z.strictObject({ plan_id: z.uuid() }).openapi('PlanApproval')),
  },
  responses: { 200: json(batchSchema, 'Approved') },
})

const viewSummary = (row: PlanRow): z.infer<typeof planSummary> => ({
  id: row.id,
  digest: row.digest,
  version: Number(row.document.version),
  planned_at: String(row.document.planned_at),
  created_by: row.createdBy,
  totals: row.document.totals as Record<string, unknown>,
  approved: (row.document.approved as { by: string; at: string } | undefined) ?? null,
})

const startPlanning = async (tx: Tx, name: string, by: string) => {
  const batch = await lockNamedBatch(tx, name)
  const live = await findLivePlanning(tx, name)
  const job =
    live?.version === batch.version
      ? { id: live.id, kind: 'plan-batch', state: live.state, existing: true }
      : await enqueueOne(tx, {
          kind: 'plan-batch',
          payload: { batch: name, version: batch.version, by },
          subject: { type: 'batch', id: name },
          createdBy: by,
        })
  return {
    status: 202 as const,
    body: job as AcceptedView,
    headers: { Location: `/v1/jobs/${job.id}` },
  }
}

const approvePlan = async (tx: Tx, asked: { name: string; planId: string; by: string }) => {
  const batch = await lockNamedBatch(tx, asked.name)
  const row = await findPlan(tx, batch.id, asked.planId)
  if (!row) throw notFound('plan', asked.planId)
  const windows = viewBatch(batch, await listWindows(tx, batch.id)).windows
  if (row.document.settings !== settingsDigest({ row: batch, windows }))
    throw problem('plan-outdated', 'The settings of the batch are not those that this plan was made from.')
  const approved = { by: asked.by, at: moment(await readClock(tx)) }
  const approval = { plan_id: row.id, digest: row.digest, ...approved }
  const changed = await approveBatch(tx, batch.id, approval)
  await markApproved(tx, row.id, approved)
  await insertAuditEvent(tx, {
    type: 'batch.approved',
    subject: { type: 'batch', id: batch.name },
    actor: asked.by,
    detail: { plan_id: row.id, digest: row.digest },
  })
  return {
    status: 200 as const,
    body: await readBatch(tx, changed),
    headers: { ETag: etagOf(changed.version) },
  }
}

const pageOfItems = async (
  db: Queryable,
  planId: string,
  asked: { limit: number; cursor: string | undefined; standing: string | undefined },
) => {
  const { limit, cursor, standing } = asked
  const list = `plan-${planId}`
  const after = readCursor(list, uuidKey, cursor)
  const items = await listPlanItems(db, planId, { after, limit: limit + 1, standing })
  const key = (item: PlanItem) => item.instance_id
  return toPage(items, { list, limit, key, item: (item): Record<string, unknown> => ({ ...item }) })
}

/** `/batches/{name}/:plan`, `/batches/{name}/plans` and `:approve`. */
export const plans = (deps: ApiDeps) =>
  newResource()
    .openapi(plan, async (c) => {
      const { name } = c.req.valid('param')
      const by = c.get('actor').name
      const answer = await once(c, deps, (tx) => startPlanning(tx, name, by))
      nudge(deps.db)
      return c.json(answer.body, 202)
    })
    .openapi(list, async (c) => {
      const { limit, cursor } = c.req.valid('query')
      const batch = await requireBatch(deps.db, c.req.valid('param').name)
      const name = `plans-${batch.name}`
      const before = readCursor(name, uuidKey, cursor)
      const rows = await listPlans(deps.db, batch.id, { before, limit: limit + 1 })
      return c.json(toPage(rows, { list: name, limit, key: (row) => row.id, item: viewSummary }), 200)
    })
    .openapi(show, async (c) => {
      const { name, id } = c.req.valid('param')
      const { limit, cursor, standing } = c.req.valid('query')
      const batch = await requireBatch(deps.db, name)
      const row = await findPlan(deps.db, batch.id, id)
      if (!row) throw notFound('plan', id)
      const { diff, items_left_out: left } = row.document
      return c.json(
        {
          ...viewSummary(row),
          diff: (diff as Record<string, unknown> | null) ?? null,
          items_left_out: Number(left),
          ...(await pageOfItems(deps.db, row.id, { limit, cursor, standing })),
        },
        200,
      )
    })
    .openapi(approve, async (c) => {
      const { name } = c.req.valid('param')
      const { plan_id: planId } = c.req.valid('json')
      const by = c.get('actor').name
      const answer = await once(c, deps, (tx) => approvePlan(tx, { name, planId, by }))
      return c.json(answer.body, 200)
    })

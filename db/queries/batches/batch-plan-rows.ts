import type { PlanItem } from '../../../src/domain/migration/batch/plan-document.ts'
import type { Queryable, Tx } from '../../client.ts'

/** A stored plan: its content, its author and its approval. */
export interface PlanRow {
  readonly id: string
  readonly batchId: string
  readonly digest: string
  readonly createdBy: string
  readonly createdAt: Date
  /** Without its instances, unless requested. */
  readonly document: Readonly<Record<string, unknown>>
}

const summary = (db: Queryable) => db`
  id, batch_id, digest, created_by, created_at, document - 'items' - 'diff' as document`

export const insertPlan = async (
  tx: Tx,
  plan: {
    readonly id: string
    readonly batchId: string
    readonly document: Readonly<Record<string, unknown>>
    readonly digest: string
    readonly by: string
  },
): Promise<void> => {
  await tx`
    insert into batch_plan (id, batch_id, document, digest, created_by)
    values (${plan.id}::uuid, ${plan.batchId}::uuid, ${JSON.stringify(plan.document)}::text::jsonb, ${plan.digest},
      ${plan.by})`
}

/** The newest first. */
export const listPlans = async (
  db: Queryable,
  batchId: string,
  page: { readonly before: string | undefined; readonly limit: number },
): Promise<PlanRow[]> => db<PlanRow[]>`
  select ${summary(db)} from batch_plan
  where batch_id = ${batchId}::uuid and ${page.before === undefined ? db`true` : db`id < ${page.before}::uuid`}
  order by id desc limit ${page.limit}`

/** One plan with everything but its instances. */
export const findPlan = async (db: Queryable, batchId: string, id: string): Promise<PlanRow | undefined> => {
  const [row] = await db<PlanRow[]>`
    select id, batch_id, digest, created_by, created_at, document - 'items' as document
    from batch_plan where id = ${id}::uuid and batch_id = ${batchId}::uuid`
  return row
}

/** The instances of a plan, in the order of their ids. */
export const listPlanItems = async (
  db: Queryable,
  planId: string,
  page: {
    readonly after: string | undefined
    readonly limit: number
    readonly standing: string | undefined
  },
): Promise<PlanItem[]> => {
  const { after, limit, standing } = page
  const rows = await db<{ item: PlanItem }[]>`
    select item from batch_plan p cross join lateral jsonb_array_elements(p.document -> 'items') with ordinality i(item, nth)
    where p.id = ${planId}::uuid
      and ${standing === undefined ? db`true` : db`item ->> 'standing' = ${standing}`}
      and ${after === undefined ? db`true` : db`(item ->> 'instance_id')::uuid > ${after}::uuid`}
    order by nth limit ${limit}`
  return rows.map(({ item }) => item)
}

/** The last approved plan of a batch. */
export const findApprovedPlan = async (db: Queryable, batchId: string): Promise<PlanRow | undefined> => {
  const [row] = await db<PlanRow[]>`
    select * from batch_plan where batch_id = ${batchId}::uuid and document ? 'approved'
    order by document -> 'approved' ->> 'at' desc limit 1`
  return row
}

/** Records the approval on the plan itself, so that a later void approval still shows what was approved. */
export const markApproved = async (
  tx: Tx,
  id: string,
  approved: Readonly<Record<string, unknown>>,
): Promise<void> => {
  await tx`
    update batch_plan set document = document || jsonb_build_object('approved', ${JSON.stringify(approved)}::text::jsonb)
    where id = ${id}::uuid`
}

/** Keeps the newest plans of a batch, and the last approved ones. */
export const prunePlans = async (
  tx: Tx,
  batchId: string,
  keep: { readonly newest: number; readonly approved: number },
): Promise<void> => {
  await tx`
    delete from batch_plan where batch_id = ${batchId}::uuid and id not in (
      (select id from batch_plan where batch_id = ${batchId}::uuid order by id desc limit ${keep.newest})
      union all
      (select id from batch_plan where batch_id = ${batchId}::uuid and document ? 'approved'
        order by document -> 'approved' ->> 'at' desc limit ${keep.approved}))`
}

/** A running plan job of this batch. */
export const findLivePlanning = async (
  db: Queryable,
  batch: string,
): Promise<{ readonly id: string; readonly state: string; readonly version: number } | undefined> => {
  const [row] = await db<{ id: string; state: string; version: number }[]>`
    select j.id, j.state, (j.payload ->> 'version')::int as version
    from job_search s join job j on j.id = s.job_id
    where s.kind = 'plan-batch' and s.subject_type = 'batch' and s.subject_id = ${batch} and j.finished_at is null
    limit 1`
  return row
}

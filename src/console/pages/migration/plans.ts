import { html } from 'hono/html'
import type { PlanSummary } from '../../../api/resources/migration/plans.ts'
import { bytes } from '../../../domain/text/bytes.ts'
import { listPage } from '../../kit/list-page.ts'
import { visible } from '../../kit/shown.ts'
import { ago, type Html, table } from '../../kit/view.ts'
import { nameOfBatch } from './batch.ts'

/** Every plan that is kept of a batch: what a start would have done, as things were then. */
export const plansPage = listPage<PlanSummary>({
  title: (context) => `Plans of ${nameOfBatch(context)}`,
  from: (context) => `/v1/batches/${nameOfBatch(context)}/plans`,
  part: 'plans',
  intro: (context) => {
    const name = nameOfBatch(context)
    return html`<p>What a start of <a href="/batches/${name}">${name}</a> would have done when each was made. A new one is
made on the page of the batch.</p>`
  },
  wakesOn: (event, context) => event.subject.id === nameOfBatch(context),
  list: (plans, context) =>
    table({
      label: 'Plans',
      head: ['Planned', 'By', 'Machines', 'Go', 'Blocked', 'Conflict', 'Bytes', 'Approved'],
      empty: 'Nobody has planned it yet.',
      rows: plans.map((plan) => planRow(nameOfBatch(context), plan, context.nowMs)),
    }),
})

const planRow = (name: string, plan: PlanSummary, nowMs: number): Html => {
  const count = (what: string) => Number(plan.totals[what] ?? 0)
  return html`<tr data-key="${plan.id}"><th scope="row" class="nowrap"><a href="/batches/${name}/plans/${plan.id}">${ago(plan.planned_at, nowMs)}</a></th>
<td class="long">${visible(plan.created_by)}</td>${['instances', 'goes', 'blocked', 'conflict'].map(
    (what) => html`<td class="count">${count(what)}</td>`,
  )}<td class="nowrap">${bytes(count('bytes'))}</td>
<td class="long">${plan.approved === null ? html`<span class="dim">no</span>` : html`by ${visible(plan.approved.by)} ${ago(plan.approved.at, nowMs)}`}</td></tr>`
}

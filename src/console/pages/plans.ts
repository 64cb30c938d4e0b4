import { html } from 'hono/html'
import { withQuery } from '../ask.ts'
import type { Page, PageContext } from '../page.ts'
import { bytes, visible } from '../shown.ts'
import { ago, type Html, table } from '../view.ts'
import { nameOfBatch, type PlanSeen } from './batch.ts'
import { pager } from './jobs.ts'

/** Every plan that is kept of a batch: what a start would have done, as things were then. */
export const plansPage = async (context: PageContext): Promise<Page> => {
  const { ask, query, path, nowMs } = context
  const name = nameOfBatch(context)
  const found = await ask<{ items: PlanSeen[]; next_cursor: string | null }>(
    `GET ${withQuery(`/v1/batches/${name}/plans`, { cursor: query.get('cursor') })}`,
  )
  return {
    title: `Plans of ${name}`,
    intro: html`<p>What a start of <a href="/batches/${name}">${name}</a> would have done when each was made. A new one is
made on the page of the batch.</p>`,
    wakesOn: (event) => event.subject.id === name,
    parts: [
      {
        id: 'plans',
        html: html`${table({
          label: 'Plans',
          head: ['Planned', 'By', 'Machines', 'Go', 'Blocked', 'Conflict', 'Bytes', 'Approved'],
          empty: 'Nobody has planned it yet.',
          rows: found.items.map((plan) => planRow(name, plan, nowMs)),
        })}${pager(path, query, found.next_cursor)}`,
      },
    ],
  }
}

const planRow = (name: string, plan: PlanSeen, nowMs: number): Html => {
  const count = (what: string) => Number(plan.totals[what] ?? 0)
  return html`<tr data-key="${plan.id}"><th scope="row" class="nowrap"><a href="/batches/${name}/plans/${plan.id}">${ago(plan.planned_at, nowMs)}</a></th>
<td class="long">${visible(plan.created_by)}</td>${['instances', 'goes', 'blocked', 'conflict'].map(
    (what) => html`<td class="count">${count(what)}</td>`,
  )}<td class="nowrap">${bytes(count('bytes'))}</td>
<td class="long">${plan.approved === null ? html`<span class="dim">no</span>` : html`by ${visible(plan.approved.by)} ${ago(plan.approved.at, nowMs)}`}</td></tr>`
}

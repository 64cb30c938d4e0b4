import { html } from 'hono/html'
import type { PlanView } from '../../../api/resources/migration/plans.ts'
import { nameKey, uuidKey } from '../../../api/wire/page.ts'
import { notFound } from '../../../api/wire/problem.ts'
import type { PlanItem } from '../../../domain/migration/batch/plan-document.ts'
import { bytes } from '../../../domain/text/bytes.ts'
import { withQuery } from '../../kit/ask.ts'
import { mayOperate, type Page, type PageContext } from '../../kit/page.ts'
import { onwards, pager } from '../../kit/pager.ts'
import { outside, visible } from '../../kit/shown.ts'
import { ago, duration, type Html, jsonBlock, table, tabs } from '../../kit/view.ts'

const standings: readonly (readonly [value: string, text: string])[] = [
  ['', 'all'],
  ['goes', 'goes'],
  ['blocked', 'blocked'],
  ['conflict', 'conflict'],
  ['on-its-way', 'on its way'],
  ['in-other-batch', 'in another batch'],
]

type PlanDetailSeen = Omit<PlanView, 'items'> & { readonly items: readonly PlanItem[] }

/** What a start would do, machine by machine. Nothing was changed for it. */
export const planPage = async (context: PageContext): Promise<Page> => {
  const { ask, params, query } = context
  const { name = '', id = '' } = params
  if (!nameKey.test(name) || !uuidKey.test(id)) throw notFound('plan', id.slice(0, 60))
  const plan = await ask<PlanDetailSeen>(
    `GET ${withQuery(`/v1/batches/${name}/plans/${id}`, { cursor: query.get('cursor'), standing: query.get('standing') })}`,
  )
  return {
    title: `Plan of ${name}`,
    intro: tabs({
      label: 'Which machines',
      path: context.path,
      query,
      name: 'standing',
      choices: standings,
    }),
    wakesOn: (event) => event.subject.id === name,
    parts: [
      { id: 'totals', html: totalsHtml(context, name, plan) },
      { id: 'items', title: 'Machine by machine', html: itemsHtml(context, plan) },
    ],
  }
}

const totalsHtml = (context: PageContext, name: string, plan: PlanDetailSeen): Html => html`<div class="card">
<p>Planned ${ago(plan.planned_at, context.nowMs)} by ${visible(plan.created_by)} for <a href="/batches/${name}">${name}</a>.
<a class="action" href="/batches/${name}/plans">All its plans</a></p>
<ul>${Object.entries(plan.totals).map(([what, value]) => html`<li>${visible(what.replaceAll('_', ' '))}: ${totalText(what, value)}</li>`)}</ul>
${plan.diff === null ? '' : jsonBlock('What changed since the plan that was approved', plan.diff)}
${
  plan.approved !== null
    ? html`<p><strong>Approved</strong> by ${visible(plan.approved.by)} ${ago(plan.approved.at, context.nowMs)}.</p>`
    : mayOperate(context)
      ? html`<form method="post" action="/batches/${name}/approve" class="verb"><input type="hidden" name="plan_id" value="${plan.id}">
<button type="submit">Approve this plan</button></form>`
      : ''
}</div>`

const totalText = (what: string, value: unknown): Html => {
  if (typeof value === 'number' && what.startsWith('bytes')) return html`${bytes(value)}`
  if (what === 'copy_ms') return html`${spanText(value as PlanItem['copy_ms'])}`
  return html`${visible(typeof value === 'object' ? JSON.stringify(value) : String(value))}`
}

const spanText = (span: PlanItem['copy_ms']): string =>
  span === null ? 'no history yet' : `${duration(span.p50)}, at most ${duration(span.p90)} in nine of ten`

const bytesText = ({ bytes: all, bytes_while_off: off = 0 }: PlanItem): Html =>
  off === 0 ? html`${bytes(all)}` : html`${bytes(all)}, ${off === all ? 'all' : bytes(off)} while it is off`

const itemsHtml = ({ query, path }: PageContext, plan: PlanDetailSeen): Html =>
  html`${table({
    label: 'Machines of the plan',
    head: ['Name', 'What', 'Why', 'To', 'Window', 'Bytes', 'Copy', 'Downtime'],
    empty: query.get('standing') ? 'None of them.' : 'No machine belongs to it.',
    rows: plan.items.map(
      (
        item,
      ) => html`<tr data-key="${item.instance_id}"><th scope="row" class="long"><a href="/instances/${item.instance_id}">${outside(item.name)}</a></th>
<td class="nowrap">${item.standing}</td><td class="long">${item.reasons.map(({ message }) => visible(message)).join(' ')}</td>
<td class="nowrap">${visible(item.placement?.target ?? '')}</td><td class="nowrap">${visible(item.window ?? item.window_note)}</td>
<td class="nowrap">${bytesText(item)}</td><td>${spanText(item.copy_ms)}</td><td>${spanText(item.downtime_ms)}</td></tr>`,
    ),
  })}${plan.items_left_out > 0 ? html`<p>${plan.items_left_out} more are counted above and not listed.</p>` : ''}${pager(path, query, plan.next_cursor, onwards)}`

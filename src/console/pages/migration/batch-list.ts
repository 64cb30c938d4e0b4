import { html } from 'hono/html'
import type { BatchSummary } from '../../../api/resources/migration/batch-view.ts'
import { batchStates } from '../../../domain/migration/batch/batch-table.ts'
import { stateBadge } from '../../kit/entry-shown.ts'
import { listPage } from '../../kit/list-page.ts'
import { mayOperate } from '../../kit/page.ts'
import { emptyText } from '../../kit/pager.ts'
import { visible } from '../../kit/shown.ts'
import { ago, type Html, table } from '../../kit/view.ts'
import { isAboutEntries } from './queue.ts'

/** All batches: what state each is in and how many of its machines have arrived. */
export const batchListPage = listPage<BatchSummary>({
  title: 'Batches',
  from: '/v1/batches',
  asks: ['state'],
  part: 'batches-list',
  intro: (context) =>
    html`${stateForm(context.query)}${mayOperate(context) ? html`<p><a class="action" href="/add-batch">Define a batch</a></p>` : ''}`,
  wakesOn: isAboutEntries,
  list: (batches, { nowMs, query }) =>
    table({
      label: 'Batches',
      head: ['Name', 'State', 'Machines', 'Where they are', 'To', 'Started', 'Which machines'],
      empty: emptyText(query, 'There is no batch yet. A batch names machines that are migrated together.'),
      rows: batches.map((batch) => batchRow(batch, nowMs)),
    }),
})

const batchRow = (batch: BatchSummary, nowMs: number): Html => html`<tr data-key="${batch.name}">
<th scope="row" class="nowrap"><a href="/batches/${batch.name}">${batch.name}</a></th><td class="nowrap">${stateBadge(batch.state)}</td>
<td>${finishedBar(batch)}</td><td class="long">${countLinks(batch)}</td>
<td class="nowrap"><a href="/targets/${batch.target}">${batch.target}</a></td><td class="nowrap">${ago(batch.started_at, nowMs)}</td>
<td class="long"><code>${visible(batch.include_expression)}</code></td></tr>`

export const entriesOf = (entries: BatchSummary['entries']): number =>
  Object.values(entries).reduce((sum, count) => sum + count, 0)

/** How many have arrived, of how many that have set out. */
export const finishedBar = ({ name, entries }: Pick<BatchSummary, 'name' | 'entries'>): Html => {
  const all = entriesOf(entries)
  const finished = entries.finished ?? 0
  return all === 0
    ? html`<span class="dim">not started</span>`
    : html`<span class="inline-progress"><progress value="${finished}" max="${all}" aria-label="Finished of ${name}"></progress>
<span>${finished} of ${all}</span></span>`
}

/** How many entries are in which state; each leads to them. */
export const countLinks = ({ name, entries }: Pick<BatchSummary, 'name' | 'entries'>): Html =>
  html`${Object.entries(entries).map(
    ([state, count], at) =>
      html`${at === 0 ? '' : ', '}<a href="/queue?batch=${name}&amp;state=${state}">${count} ${state}</a>`,
  )}`

const stateForm = (
  query: URLSearchParams,
): Html => html`<form class="filter" method="get" action="/batches" role="search">
<div><label for="f-state">State</label><select id="f-state" name="state"><option value="">any</option>
${batchStates.map((state) => html`<option value="${state}"${state === query.get('state') ? html` selected` : ''}>${state}</option>`)}</select></div>
<button type="submit">Filter</button></form>`

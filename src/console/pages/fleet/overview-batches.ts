import { html } from 'hono/html'
import type { BatchSummary } from '../../../api/resources/migration/batch-view.ts'
import type { BatchState } from '../../../domain/migration/batch/batch-table.ts'
import { stateBadge } from '../../kit/entry-shown.ts'
import type { PageContext } from '../../kit/page.ts'
import { ago, type Html, table } from '../../kit/view.ts'
import { finishedBar } from '../migration/batch-list.ts'

const shownMax = 8

/** What may need somebody goes first, what is over last. */
const order = ['error', 'running', 'stopped', 'defined', 'finished'] as const satisfies BatchState[]

export interface BatchesSeen {
  readonly batches: readonly BatchSummary[]
  readonly more: boolean
}

/** The batches that matter most; of each state as many as fit, and whether there are others. */
export const readBatchesSeen = async ({ ask }: PageContext): Promise<BatchesSeen> => {
  const found = await Promise.all(
    order.map((state) =>
      ask<{ items: BatchSummary[] }>(`GET /v1/batches?state=${state}&limit=${shownMax + 1}`),
    ),
  )
  const all = found.flatMap(({ items }) => items)
  return { batches: all.slice(0, shownMax), more: all.length > shownMax }
}

/** Each batch in one line: its state, how many have arrived, and what of it waits for a person. */
export const batchesSummary = ({ batches, more }: BatchesSeen, nowMs: number): Html =>
  html`${table({
    label: 'Batches of machines',
    head: ['Name', 'State', 'Finished', 'Waits for a person', 'Started'],
    empty: html`None yet. <a href="/batches">A batch</a> names machines that are migrated together.`,
    rows: batches.map(
      (
        batch,
      ) => html`<tr data-key="${batch.name}"><th scope="row" class="long"><a href="/batches/${batch.name}">${batch.name}</a></th>
<td class="nowrap">${stateBadge(batch.state)}</td><td>${finishedBar(batch)}</td><td class="nowrap">${needs(batch)}</td>
<td class="nowrap">${ago(batch.started_at, nowMs)}</td></tr>`,
    ),
  })}${more ? html`<p class="more"><a href="/batches">All batches</a></p>` : ''}`

const needs = ({ name, entries }: BatchSummary): Html => {
  const counted = (['conflict', 'error'] as const).filter((state) => (entries[state] ?? 0) > 0)
  if (counted.length === 0) return html`<span class="dim">nothing</span>`
  return html`${counted.map(
    (state, at) =>
      html`${at === 0 ? '' : ', '}<a href="/queue?batch=${name}&amp;state=${state}">${entries[state]} in ${state}<span class="sr"> in ${name}</span></a>`,
  )}`
}

import { html } from 'hono/html'
import type { EntrySummary } from '../../../api/resources/migration/queue-view.ts'
import { downMark } from '../../kit/down-shown.ts'
import { bytesProgress, entryLink, phaseWords, stateBadge } from '../../kit/entry-shown.ts'
import { visible } from '../../kit/shown.ts'
import { ago, type Html, table } from '../../kit/view.ts'

/** Entries as rows: where each is, why, and how far. */
export const entryTable = (options: {
  readonly label: string
  readonly entries: readonly EntrySummary[]
  readonly nowMs: number
  readonly empty: string
  /** Of one batch, which then needs no column. */
  readonly ofOneBatch: boolean
  /** Of entries that stand still, which have none to show. */
  readonly progress?: false
}): Html =>
  table({
    label: options.label,
    head: [
      ...['Name', 'State', 'Why', ...(options.progress === false ? [] : ['Progress'])],
      ...[...(options.ofOneBatch ? [] : ['Batch']), 'To', 'Since'],
    ],
    empty: options.empty,
    rows: options.entries.map(
      (
        entry,
      ) => html`<tr data-key="${entry.id}"><th scope="row" class="long">${entryLink(entry)}${downMark(entry.down, options.nowMs)}</th>
<td class="nowrap">${stateBadge(entry.state)}</td><td class="long">${visible(entry.message)}</td>${options.progress === false ? '' : html`<td>${progressCell(entry)}</td>`}
${options.ofOneBatch ? '' : html`<td class="nowrap"><a href="/batches/${entry.batch}">${entry.batch}</a></td>`}
<td class="nowrap">${entry.target === null ? html`<span class="dim">nowhere yet</span>` : html`<a href="/targets/${entry.target}">${entry.target}</a>`}</td>
<td class="nowrap">${ago(entry.since, options.nowMs)}</td></tr>`,
    ),
  })

const progressCell = (entry: EntrySummary): Html => {
  if (entry.certificate_id !== null && entry.state === 'finished')
    return html`<a href="/certificates/${entry.certificate_id}">certificate<span class="sr"> of ${visible(entry.name)}</span></a>`
  if (entry.progress === null) return html``
  const phase = entry.job === null ? '' : `${phaseWords(entry.progress.phase)}: `
  return html`${phase}${bytesProgress(`Progress of ${visible(entry.name)}`, entry.progress)}`
}

import { html } from 'hono/html'
import { type JobLine, listJobs } from '../../../db/queries/list-jobs.ts'
import { readCursor, toPage, uuidKey } from '../../api/page.ts'
import { mayOperate, type Page, type PageContext } from '../page.ts'
import { ago, button, type Html, jobLink, shortId, table } from '../view.ts'
import { pager } from './jobs.ts'

const pageSize = 50

/** The dead letters: jobs that used up their tries. They stay until somebody retries them, or their time is over. */
export const failedPage = async (context: PageContext): Promise<Page> => {
  const { deps, query, nowMs } = context
  const kind = query.get('kind') || undefined
  const before = readCursor('jobs', uuidKey, query.get('cursor') || undefined)
  const rows = await listJobs(deps.db, { state: 'failed', kind }, { before, limit: pageSize + 1 })
  const page = toPage(rows, { list: 'jobs', limit: pageSize, key: (row) => row.id, item: (row) => row })
  const here = `/failed${query.size > 0 ? `?${query}` : ''}`
  const operator = mayOperate(context)
  return {
    title: 'Failed jobs',
    intro: html`<p>Jobs that ended for good without success. Retry them when the cause is gone: each starts again with fresh tries, and adopts what it left outside.</p>`,
    wakesOn: (event) => event.type === 'job.failed' || event.type === 'job.redriven',
    announce: page.items.length === 0 ? 'No failed jobs.' : '',
    parts: [
      {
        id: 'failed',
        html: html`${table({
          label: 'Failed jobs',
          head: [
            'Job',
            'Kind',
            'Failed',
            'Why, and what to do',
            ...(operator ? [html`<span class="sr">Action</span>`] : []),
          ],
          empty: 'No job has failed for good.',
          rows: page.items.map((job) => failedRow(job, nowMs, operator ? here : undefined)),
        })}
${operator && page.items.length > 1 ? retryAll(page.items, here) : ''}
${pager('/failed', query, page.next_cursor)}`,
      },
    ],
  }
}

const failedRow = (
  job: JobLine,
  nowMs: number,
  back: string | undefined,
): Html => html`<tr data-key="${job.id}">
<td>${jobLink(job.id)}</td><td>${job.kind}</td><td class="nowrap">${ago(job.finishedAt, nowMs)}</td>
<td>${String(job.error?.message ?? 'no reason was recorded')}<br><span class="dim">${String(job.error?.remedy ?? '')}</span></td>
${
  back === undefined
    ? ''
    : html`<td>${button({ action: `/jobs/${job.id}/retry`, text: 'Retry', about: `job ${shortId(job.id)}`, back })}</td>`
}</tr>`

const retryAll = (
  jobs: readonly JobLine[],
  back: string,
): Html => html`<form method="post" action="/failed/retry" class="verb">
<input type="hidden" name="back" value="${back}">
${jobs.map((job) => html`<input type="hidden" name="id" value="${job.id}" data-key="${job.id}">`)}
<button type="submit">Retry all ${jobs.length} on this page</button></form>`

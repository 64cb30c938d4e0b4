import { html } from 'hono/html'
import type { JobSummary } from '../../../api/resources/jobs/job-view.ts'
import { listPage } from '../../kit/list-page.ts'
import { mayOperate, type PageContext } from '../../kit/page.ts'
import { emptyText } from '../../kit/pager.ts'
import { ago, button, type Html, jobLink, shortId, table } from '../../kit/view.ts'
import { refusalHtml } from './job-table.ts'

const hereOf = ({ query }: PageContext): string => `/failed${query.size > 0 ? `?${query}` : ''}`

const none = 'No job has failed for good.'

/** The dead letters: jobs that used up their tries. They stay until somebody retries them, or their time is over. */
export const failedPage = listPage<JobSummary>({
  title: 'Failed jobs',
  from: '/v1/jobs',
  asks: ['kind'],
  sets: () => ({ state: 'failed' }),
  part: 'failed',
  intro: () =>
    html`<p>Jobs that ended for good without success. Retry them when the cause is gone: each starts again with fresh tries, and adopts what it left outside. Of one that cannot be retried it is said what to do instead.</p>`,
  wakesOn: (event) => event.type === 'job.failed' || event.type === 'job.redriven',
  announce: (jobs, { query }) => (jobs.length === 0 ? emptyText(query, none) : ''),
  list: (jobs, context) => {
    const here = mayOperate(context) ? hereOf(context) : undefined
    const useful = jobs.filter((job) => job.retry_refusal === null)
    return html`${table({
      label: 'Failed jobs',
      head: [
        'Job',
        'Kind',
        'Failed',
        'Why, and what to do',
        ...(here === undefined ? [] : [html`<span class="sr">Action</span>`]),
      ],
      empty: emptyText(context.query, none),
      rows: jobs.map((job) => failedRow(job, context.nowMs, here)),
    })}
${here !== undefined && useful.length > 1 ? retryAll(useful, here) : ''}`
  },
})

const failedRow = (
  job: JobSummary,
  nowMs: number,
  back: string | undefined,
): Html => html`<tr data-key="${job.id}">
<td>${jobLink(job.id)}</td><td>${job.kind}</td><td class="nowrap">${ago(job.finished_at, nowMs)}</td>
<td>${String(job.error?.message ?? 'no reason was recorded')}<br><span class="dim">${String(job.error?.remedy ?? '')}</span></td>
${back === undefined ? '' : html`<td>${retryHtml(job, back)}</td>`}</tr>`

/** A button where a new run may succeed; else why it cannot, and what to do instead. */
const retryHtml = (job: JobSummary, back: string): Html =>
  job.retry_refusal === null
    ? button({ action: `/jobs/${job.id}/retry`, text: 'Retry', about: `job ${shortId(job.id)}`, back })
    : refusalHtml(job)

const retryAll = (
  jobs: readonly JobSummary[],
  back: string,
): Html => html`<form method="post" action="/failed/retry" class="verb">
<input type="hidden" name="back" value="${back}">
${jobs.map((job) => html`<input type="hidden" name="id" value="${job.id}" data-key="${job.id}">`)}
<button type="submit">Retry all ${jobs.length} on this page</button></form>`

import { html } from 'hono/html'
import type { JobSummary } from '../../../api/resources/jobs/job-view.ts'
import { many } from '../../../domain/text/sentence.ts'
import { visible } from '../../kit/shown.ts'
import { ago, badge, type Html, jobLink, jobProgress, table } from '../../kit/view.ts'

/** Jobs as a table. The last column says what matters in their state. */
export const jobTable = (options: {
  readonly label: string
  readonly jobs: readonly JobSummary[]
  readonly nowMs: number
  readonly empty: string | Html
}): Html =>
  table({
    label: options.label,
    head: ['Job', 'Kind', 'State', 'Subject', 'Lane', 'Created', 'How it is'],
    empty: options.empty,
    rows: options.jobs.map(
      (job) => html`<tr data-key="${job.id}">
<td>${jobLink(job.id)}</td><td>${job.kind}</td><td>${badge(job.state)}</td>
<td class="long">${visible(`${job.subject.type}/${job.subject.id}`)}</td>
<td class="long"><a href="/jobs?lane=${encodeURIComponent(job.lane)}">${job.lane}</a></td>
<td class="nowrap">${ago(job.created_at, options.nowMs)}</td><td>${standing(job, options.nowMs)}</td></tr>`,
    ),
  })

const standing = (job: JobSummary, nowMs: number): Html => {
  switch (job.state) {
    case 'running':
      return jobProgress(job.progress)
    case 'waiting':
      return html`waits for ${job.wait_reason ?? 'something'}`
    case 'failed':
      return html`${String(job.error?.message ?? 'no reason was recorded')}`
    case 'ready':
      return job.attempt > 0
        ? html`tried ${many(job.attempt, 'time')}`
        : html`<span class="dim">not started yet</span>`
    case 'succeeded':
    case 'canceled':
      return html`ended ${ago(job.finished_at, nowMs)}`
  }
}

/** Why a job is not run again, and what to do instead. */
export const refusalHtml = ({
  subject,
  retry_refusal: refusal,
}: Pick<JobSummary, 'subject' | 'retry_refusal'>): Html =>
  refusal === null
    ? html``
    : html`It is not run again. ${refusal.message} ${refusal.remedy}${subject.type === 'entry' ? html` <a href="/queue/${subject.id}">Its entry</a>` : ''}`

import { html } from 'hono/html'
import type { EffectView } from '../../../api/resources/jobs/effect-view.ts'
import type { EventView } from '../../../api/resources/jobs/event-view.ts'
import type { JobView } from '../../../api/resources/jobs/job-view.ts'
import { uuidKey } from '../../../api/wire/page.ts'
import { notFound } from '../../../api/wire/problem.ts'
import { isTerminal } from '../../../domain/job/state.ts'
import { many } from '../../../domain/text/sentence.ts'
import { mayOperate, type Page, type PageContext } from '../../kit/page.ts'
import {
  ago,
  badge,
  button,
  definition,
  duration,
  type Html,
  jobProgress,
  jsonBlock,
  shortId,
} from '../../kit/view.ts'
import { effectTable } from './effect-table.ts'
import { refusalHtml } from './job-table.ts'

const eventsShown = 100
const effectsShown = 50

/** One job: what it is doing, why it is not, what happened to it, and what a person can do about it. */
export const jobPage = async (context: PageContext): Promise<Page> => {
  const { ask, nowMs } = context
  const id = context.params.id ?? ''
  if (!uuidKey.test(id)) throw notFound('job', id.slice(0, 60))
  const [job, events, effects] = await Promise.all([
    ask<JobView>(`GET /v1/jobs/${id}`),
    ask<{ items: EventView[] }>(`GET /v1/jobs/${id}/events?limit=${eventsShown}`),
    ask<{ items: EffectView[] }>(`GET /v1/jobs/${id}/effects?limit=${effectsShown}`),
  ])
  return {
    title: `${job.kind} ${shortId(id)}`,
    announce: `The job is ${job.state}.`,
    wakesOn: (event) => event.job === id,
    parts: [
      { id: 'state', html: stateHtml(context, job) },
      { id: 'timeline', title: 'What happened', html: timeline(events.items, nowMs) },
      {
        id: 'effects',
        title: 'What it did outside',
        html: effectTable({
          label: 'Effects of this job',
          effects: effects.items,
          nowMs,
          empty: 'Nothing outside the database.',
          waiveBack: mayOperate(context) ? `/jobs/${id}` : undefined,
          withJob: false,
        }),
      },
      { id: 'facts', title: 'Facts', html: facts(job, nowMs) },
    ],
  }
}

const stateHtml = (context: PageContext, job: JobView): Html => html`<div class="card is-${job.state}">
<p class="state-line">${badge(job.state)} ${stateSentence(job, context.nowMs)}</p>
${job.state === 'running' ? jobProgress(job.progress) : ''}
${job.wait === null ? '' : waitHtml(job.wait, context.nowMs)}
${job.error === null || job.state === 'succeeded' ? '' : errorHtml(job.error, job.state)}
${job.cancel === null || isTerminal(job.state) ? '' : html`<p>${job.cancel.by} asked it to end ${ago(job.cancel.requested_at, context.nowMs)}: ${job.cancel.reason}</p>`}
${mayOperate(context) ? buttons(job) : ''}</div>`

const stateSentence = (job: JobView, nowMs: number): Html => {
  const tries = job.attempt > 1 ? ` (try ${job.attempt})` : ''
  switch (job.state) {
    case 'running':
      return html`since ${ago(job.started_at, nowMs)}${tries}, on worker <code>${shortId(job.worker_id ?? '')}</code>`
    case 'ready':
      return html`to start${job.attempt > 0 ? `, after ${many(job.attempt, 'try', 'tries')}` : ''}`
    case 'waiting':
      return html``
    case 'succeeded':
    case 'failed':
    case 'canceled':
      return html`${ago(job.finished_at, nowMs)}${tookText(job)}${tries}`
  }
}

const tookText = (job: JobView): string =>
  job.started_at === null || job.finished_at === null
    ? ''
    : `, after ${duration(Date.parse(job.finished_at) - Date.parse(job.started_at))}`

const waitHtml = (wait: NonNullable<JobView['wait']>, nowMs: number): Html => html`<div id="wait">
<p><strong>Why it does not run:</strong> ${wait.detail}</p>
${definition([
  ['Since', ago(wait.since, nowMs)],
  ['At the latest', wait.until === null ? 'no limit' : ago(wait.until, nowMs)],
  ['Ends when', wait.ends_when],
])}</div>`

const errorHtml = (
  error: NonNullable<JobView['error']>,
  state: string,
): Html => html`<div id="error" class="problem">
<p><strong>${state === 'failed' ? 'Why it failed' : 'The last error'}:</strong> ${error.message}</p>
<p><strong>What to do:</strong> ${error.remedy}</p>
<p class="dim">Code <code>${error.code}</code>, class ${error.class}${error.field ? html`, field <code>${error.field}</code>` : ''}</p></div>`

const buttons = (job: JobView): Html => {
  if (job.state === 'failed' || job.state === 'canceled')
    return job.retry_refusal === null
      ? html`<div class="buttons">${button({ action: `/jobs/${job.id}/retry`, text: 'Retry' })}</div>`
      : html`<p>${refusalHtml(job)}</p>`
  if (isTerminal(job.state) || job.cancel !== null) return html``
  return html`<div class="buttons">${button({ action: `/jobs/${job.id}/cancel`, text: 'Cancel the job', kind: 'danger' })}</div>`
}

const timeline = (events: readonly EventView[], nowMs: number): Html =>
  events.length === 0
    ? html`<p class="empty">Its events were removed after their time.</p>`
    : html`<ol class="timeline">${events.map(
        (event) => html`<li data-key="${event.id}"><span class="when">${ago(event.at, nowMs)}</span>
<span class="what">${event.type.replace(/^job\./, '')}${event.to !== null && event.to !== event.type.replace(/^job\./, '') ? html` <span class="dim">→ ${event.to}</span>` : ''}</span>
<span class="by dim">${event.actor}</span>${event.reason === null ? '' : html` <span class="why">${event.reason}</span>`}</li>`,
      )}</ol>`

const facts = (job: JobView, nowMs: number): Html => html`${definition([
  ['Id', html`<code>${job.id}</code>`],
  [
    'Subject',
    html`<a href="/jobs?subject=${encodeURIComponent(`${job.subject.type}/${job.subject.id}`)}">${job.subject.type}/${job.subject.id}</a>`,
  ],
  ['Lane', html`<a href="/jobs?lane=${encodeURIComponent(job.lane)}">${job.lane}</a>`],
  ['Priority', job.priority],
  ['Created', html`${ago(job.created_at, nowMs)} by ${job.created_by}`],
  ['Deadline', job.deadline === null ? 'none' : ago(job.deadline, nowMs)],
  ['Generation', job.generation],
  ['Tries', `${job.attempt}, environment ${job.environment_attempt}, lost ${job.lost}`],
  ['Tokens', job.tokens.length === 0 ? 'none' : job.tokens.join(', ')],
  ['Trace', job.trace === null ? 'none' : html`<code>${job.trace}</code>`],
])}
${jsonBlock(`Payload (version ${job.payload_version})`, job.payload)}
${job.result === null ? '' : jsonBlock('Result', job.result)}
${job.error?.detail === undefined ? '' : jsonBlock('Details of the error', job.error.detail)}
<p class="dim">The same for programs: <a href="/v1/jobs/${job.id}">/v1/jobs/${job.id}</a></p>`

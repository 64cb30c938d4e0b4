import { html } from 'hono/html'
import type { EventView } from '../../../api/resources/jobs/event-view.ts'
import type { OperationView } from '../../../api/resources/operation/operation-view.ts'
import { uuidKey } from '../../../api/wire/page.ts'
import { notFound } from '../../../api/wire/problem.ts'
import { nothingToDo } from '../../../domain/operation/kinds/reasons.ts'
import {
  isStillActive,
  linkedText,
  machineLink,
  operationBadge,
  operationIdLink,
  operationIdLinks,
  operationLook,
  progressHtml,
  slotsHtml,
  variantWords,
} from '../../kit/operation-shown.ts'
import { mayOperate, type Page, type PageContext } from '../../kit/page.ts'
import { visible } from '../../kit/shown.ts'
import { ago, button, definition, duration, type Html, jobLink, jsonBlock, table } from '../../kit/view.ts'

interface Conditions {
  readonly phase: string
  readonly conditions: readonly {
    readonly type: string
    readonly status: string
    readonly reason: string
    readonly message: string
    readonly last_transition_time: string
  }[]
}

const eventsShown = 200

/** One operation: where it is, why, what it waits for, what took its place, and what a person can do about it. */
export const operationPage = async (context: PageContext): Promise<Page> => {
  const { ask, nowMs } = context
  const id = context.params.id ?? ''
  if (!uuidKey.test(id)) throw notFound('operation', id.slice(0, 60))
  const operation = await ask<OperationView>(`GET /v1/operations/${id}`)
  const [history, conditions] = await Promise.all([
    ask<{ items: EventView[] }>(
      `GET /v1/events?subject=operation/${id}&types=operation.*&limit=${eventsShown}`,
    ),
    ask<Conditions>(`GET /v1/operations/${id}?view=conditions`),
  ])
  const around = [operation.superseded_by, operation.blocker, ...operation.supersedes]
  return {
    title: `${operation.kind}${operation.force ? ' by force' : ''} of ${visible(operation.machine)}`,
    announce: `It is ${operation.state}. ${visible(operation.message)}`,
    wakesOn: (event) =>
      event.subject.id === id || around.includes(event.subject.id) || event.job === operation.job_id,
    parts: [
      { id: 'state', html: stateHtml(context, operation) },
      { id: 'timeline', title: 'What happened', html: timelineHtml(history.items, nowMs) },
      { id: 'facts', title: 'Facts', html: factsHtml(operation, nowMs) },
      { id: 'conditions', title: 'As conditions', html: conditionsHtml(id, conditions, nowMs) },
    ],
  }
}

const stateHtml = (context: PageContext, operation: OperationView): Html => {
  const { state, message, past_return: past, finished_at: finished } = operation
  return html`<div class="card is-${operationLook(state)}">
<p class="state-line">${operationBadge(state)} ${linkedText(message, [operation.superseded_by])}${finished === null ? html` ${progressHtml(operation)}` : ''}</p>
${chainHtml(operation)}
${waitHtml(operation, context.nowMs)}
${errorHtml(operation)}
${remedyHtml(operation)}
${isStillActive(operation) ? html`<p><strong>It is still active:</strong> not everything that it started has stopped. The next operation of the machine waits for that.</p>` : ''}
${past && finished === null ? html`<p><strong>It is past its return:</strong> it can no longer be canceled, only come to its end.</p>` : ''}
${mayOperate(context) && finished === null && !past ? html`<div class="buttons">${button({ action: `/operations/${operation.id}/cancel`, text: 'Cancel it', kind: 'danger' })}</div>` : ''}</div>`
}

/** Both ways: who took its place, and whose place it took. */
const chainHtml = ({
  superseded_by: newer,
  supersedes,
  resumes,
  blocker,
  behind,
  message,
}: OperationView): Html =>
  html`${newer === null || message.includes(newer) ? '' : html`<p>${operationIdLink(newer)} took its place.</p>`}${
    supersedes.length === 0 ? '' : html`<p>It took the place of ${operationIdLinks(supersedes)}.</p>`
  }${resumes === null ? '' : html`<p>It comes back for ${operationIdLink(resumes)}.</p>`}${
    blocker === null ? '' : html`<p>At the machine now: ${operationIdLink(blocker)}.</p>`
  }${behind === 0 ? '' : html`<p>${behind} queued behind it: what is asked there goes on afterwards.</p>`}`

const waitHtml = ({ waits, message }: OperationView, nowMs: number): Html => {
  if (waits === null) return html``
  const { detail, ends_when: endsWhen, since, until, older, slots } = waits
  return html`${detail === message ? '' : html`<p><strong>Why it does not go on:</strong> ${visible(detail)}</p>`}
${older.length === 0 ? '' : html`<p>Letting go: ${operationIdLinks(older)}.</p>`}${slots === null ? '' : slotsHtml(slots)}
<p><strong>Ends when:</strong> ${visible(endsWhen)}</p>
<p class="dim">Since ${ago(since, nowMs)}${until === null ? '' : html`; ${ago(until, nowMs)} at the latest`}.</p>`
}

const errorHtml = ({ error, message, waits }: OperationView): Html => {
  const failed = error ?? waits?.error ?? null
  const text = String(failed?.message ?? '')
  return failed === null || text === message || text === waits?.detail
    ? html``
    : html`<p class="problem">${visible(text)}</p>`
}

/** Only where there is something to do. */
const remedyHtml = ({ state, remedy, retryable }: OperationView): Html =>
  state === 'completed' || remedy === '' || remedy === nothingToDo
    ? html``
    : html`<p><strong>What to do:</strong> ${visible(remedy)}${retryable ? html` <span class="dim">Asked again later, it may well succeed.</span>` : ''}</p>`

const timelineHtml = (events: readonly EventView[], nowMs: number): Html =>
  events.length === 0
    ? html`<p class="empty">Its events were removed after their time.</p>`
    : html`<ol class="timeline">${events.map(
        (event) => html`<li data-key="${event.id}"><span class="when">${ago(event.at, nowMs)}</span>
<span class="what">${event.type.replace(/^operation\./, '')}</span>
<span class="by dim">${visible(event.actor)}</span>${event.reason === null ? '' : html` <span class="why">${visible(event.reason)}</span>`}</li>`,
      )}</ol>`

const seconds = (count: number): string => duration(count * 1_000)

const factsHtml = (operation: OperationView, nowMs: number): Html => html`${definition([
  ['Machine', machineLink(operation)],
  ['On', html`<a href="/targets/${operation.target}">${operation.target}</a>`],
  ['What', variantWords(operation)],
  ['Reason', html`<code>${operation.reason}</code>`],
  [
    'Asked',
    html`${ago(operation.created_at, nowMs)} by ${visible(operation.created_by)} <span class="dim">(${operation.cause})</span>`,
  ],
  ['On conflict', operation.on_conflict],
  ['Begun', operation.started_at === null ? 'not yet' : ago(operation.started_at, nowMs)],
  [
    'Deadline',
    operation.deadline_at === null || operation.finished_at !== null
      ? `${seconds(operation.deadline_seconds)} from its beginning; waiting does not count`
      : operation.in_line_since !== null
        ? html`stands still since it stands in line, ${ago(operation.in_line_since, nowMs)}`
        : html`${ago(operation.deadline_at, nowMs)}, ${seconds(operation.deadline_seconds)} from its beginning`,
  ],
  ...(operation.finished_at === null && (operation.started_at === null || operation.in_line_since !== null)
    ? ([['Waits until', ago(operation.expires_at, nowMs)]] as const)
    : []),
  ['Ended', operation.finished_at === null ? 'not yet' : ago(operation.finished_at, nowMs)],
  ['Its effects stopped', operation.settled_at === null ? 'not yet' : ago(operation.settled_at, nowMs)],
  ['Job', operation.job_id === null ? 'none yet' : jobLink(operation.job_id)],
])}${Object.keys(operation.params).length === 0 ? '' : jsonBlock('What it was asked with', operation.params)}${
  operation.result === null ? '' : jsonBlock('What it brought', operation.result)
}
<p class="dim">The same for programs: <a href="/v1/operations/${operation.id}">/v1/operations/${operation.id}</a></p>`

const conditionsHtml = (id: string, { phase, conditions }: Conditions, nowMs: number): Html =>
  html`<details><summary>Phase ${phase}, and its conditions</summary>${table({
    label: 'Conditions',
    head: ['Type', 'Status', 'Reason', 'Message', 'Since'],
    empty: '',
    rows: conditions.map(
      (
        condition,
      ) => html`<tr data-key="${condition.type}"><th scope="row">${condition.type}</th><td>${condition.status}</td>
<td>${condition.reason}</td><td class="long">${visible(condition.message)}</td><td class="nowrap">${ago(condition.last_transition_time, nowMs)}</td></tr>`,
    ),
  })}<p class="dim">For tools that know these: <a href="/v1/operations/${id}?view=conditions">/v1/operations/${id}?view=conditions</a></p></details>`

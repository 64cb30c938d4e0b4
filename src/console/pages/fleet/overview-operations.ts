import { html } from 'hono/html'
import type { Overview } from '../../../api/screens/overview.ts'
import { operationReasons } from '../../../domain/operation/kinds/reasons.ts'
import { type OperationState, operationStates } from '../../../domain/operation/kinds/state.ts'
import { machineLink, operationBadge, operationLink, whyHtml } from '../../kit/operation-shown.ts'
import { ago, duration, type Html, table } from '../../kit/view.ts'

type OperationsSeen = Overview['operations']

/** What is at machines goes before what waits for them. */
const shownFirst: readonly string[] = ['running', 'pending', 'queued', 'letting-go']
const place = (state: string): number => shownFirst.indexOf(state)

const byPlace = (a: OperationsSeen['open'][number], b: OperationsSeen['open'][number]): number =>
  place(a.state) - place(b.state) || b.operations - a.operations

/** What is at machines now and why it waits, and what went wrong lately. */
export const operationsSummary = ({ open, failed, moreFailed }: OperationsSeen, nowMs: number): Html =>
  html`${table({
    label: 'Open operations by state and reason',
    head: ['State', 'Why', 'Operations', 'The oldest'],
    empty: html`None is under way. <a href="/machines">Machines</a> are started, stopped, moved and copied by operations.`,
    rows: [...open].sort(byPlace).map(
      (
        line,
      ) => html`<tr data-key="${line.state}-${line.reason}"><th scope="row" class="nowrap">${stateHtml(line.state)}</th>
<td class="long">${titleOf(line.reason)}</td><td>${line.operations}</td>
<td class="nowrap">${duration(line.oldestSeconds * 1_000)}</td></tr>`,
    ),
  })}${failed.length === 0 ? '' : failedHtml({ failed, moreFailed }, nowMs)}`

const stateHtml = (state: string): Html =>
  isState(state)
    ? html`<a href="/operations?state=${state}">${operationBadge(state)}</a>`
    : html`<span class="mark">still active</span>`

const isState = (text: string): text is OperationState =>
  (operationStates as readonly string[]).includes(text)

const titleOf = (reason: string): string =>
  Object.entries(operationReasons).find(([name]) => name === reason)?.[1].title ?? reason

const failedHtml = (
  { failed, moreFailed }: Pick<OperationsSeen, 'failed' | 'moreFailed'>,
  nowMs: number,
): Html =>
  html`${table({
    label: 'Operations that failed in the last day',
    head: ['Failed in the last day', 'Machine', 'Why', 'Ended'],
    empty: '',
    rows: failed.map(
      (
        operation,
      ) => html`<tr data-key="${operation.id}"><th scope="row" class="nowrap">${operationLink(operation)}</th>
<td class="long">${machineLink(operation)}</td><td class="long">${whyHtml(operation)}</td>
<td class="nowrap">${ago(operation.finished_at, nowMs)}</td></tr>`,
    ),
  })}${moreFailed ? html`<p class="more"><a href="/operations?state=failed">All that failed</a></p>` : ''}`

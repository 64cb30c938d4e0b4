import { html } from 'hono/html'
import { findLatelyFailed } from '../../../db/queries/find-lately-failed.ts'
import { measureOpenOperations, type OpenLine } from '../../../db/queries/measure-operations.ts'
import type { OperationView } from '../../api/resources/operation-view.ts'
import { operationReasons } from '../../domain/operation/reasons.ts'
import { type OperationState, operationStates } from '../../domain/operation/state.ts'
import { withQuery } from '../ask.ts'
import { machineLink, operationBadge, operationLink, whyHtml } from '../operation-shown.ts'
import type { PageContext } from '../page.ts'
import { ago, duration, type Html, table } from '../view.ts'

const failedShown = 5
const failedMs = 24 * 3_600_000

export interface OperationsSeen {
  readonly open: readonly OpenLine[]
  /** Of the last day, the last to fail first. */
  readonly failed: readonly OperationView[]
  readonly moreFailed: boolean
}

export const readOperationsSeen = async ({ deps, ask, nowMs }: PageContext): Promise<OperationsSeen> => {
  const [open, ids] = await Promise.all([
    measureOpenOperations(deps.db, deps.leaseMs),
    findLatelyFailed(deps.db, { since: new Date(nowMs - failedMs), limit: failedShown + 1 }),
  ])
  const { items } =
    ids.length === 0
      ? { items: [] }
      : await ask<{ items: OperationView[] }>(`GET ${withQuery('/v1/operations', { ids: ids.join(',') })}`)
  return {
    open: [...open].sort((a, b) => place(a.state) - place(b.state) || b.operations - a.operations),
    failed: ids.slice(0, failedShown).flatMap((id) => items.filter((one) => one.id === id)),
    moreFailed: ids.length > failedShown,
  }
}

/** What is at machines goes before what waits for them. */
const shownFirst: readonly string[] = ['running', 'pending', 'queued', 'letting-go']
const place = (state: string): number => shownFirst.indexOf(state)

/** What is at machines now and why it waits, and what went wrong lately. */
export const operationsSummary = ({ open, failed, moreFailed }: OperationsSeen, nowMs: number): Html =>
  html`${table({
    label: 'Open operations by state and reason',
    head: ['State', 'Why', 'Operations', 'The oldest'],
    empty: html`None is under way. <a href="/machines">Machines</a> are started, stopped, moved and copied by operations.`,
    rows: open.map(
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
    : html`<span class="mark">letting go</span>`

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

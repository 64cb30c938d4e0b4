import { html } from 'hono/html'
import type { OperationView } from '../../../api/resources/operation/operation-view.ts'
import {
  isStillActive,
  machineLink,
  mayCancel,
  operationBadge,
  operationIdLinks,
  operationLink,
  progressHtml,
  slotsHtml,
  whyHtml,
} from '../../kit/operation-shown.ts'
import { visible } from '../../kit/shown.ts'
import { ago, button, type Html, table } from '../../kit/view.ts'

interface OperationTable {
  readonly label: string
  readonly operations: readonly OperationView[]
  readonly nowMs: number
  readonly empty: string
  /** Of one machine, which then needs no column. */
  readonly ofOneMachine: boolean
  /** Where a button leads back to; undefined: this person presses none. */
  readonly back: string | undefined
}

/** Those that have not ended: how far each is, what it waits for, and a way to give it up. */
export const openOperations = (options: OperationTable): Html =>
  table({
    label: options.label,
    head: [
      ...['Operation', ...(options.ofOneMachine ? [] : ['Machine']), 'State', 'Why', 'Progress', 'Asked'],
      ...(options.back === undefined ? [] : ['Cancel']),
    ],
    empty: options.empty,
    rows: options.operations.map(
      (
        operation,
      ) => html`<tr data-key="${operation.id}"><th scope="row" class="nowrap">${operationLink(operation)}</th>
${machineCell(options, operation)}<td class="nowrap">${operationBadge(operation.state)}</td>
<td class="long">${whyHtml(operation)}${operation.waits?.slots ? slotsHtml(operation.waits.slots) : ''}</td>
<td>${progressHtml(operation)}</td><td class="long">${askedHtml(operation, options.nowMs)}</td>
${options.back === undefined ? '' : html`<td>${cancelHtml(operation, options.back)}</td>`}</tr>`,
    ),
  })

/** Those that have: what became of each. */
export const endedOperations = (options: OperationTable): Html =>
  table({
    label: options.label,
    head: [
      ...['Operation', ...(options.ofOneMachine ? [] : ['Machine']), 'State', 'Why', 'Took the place of'],
      ...['Asked', 'Ended'],
    ],
    empty: options.empty,
    rows: options.operations.map(
      (
        operation,
      ) => html`<tr data-key="${operation.id}"><th scope="row" class="nowrap">${operationLink(operation)}</th>
${machineCell(options, operation)}<td class="nowrap">${operationBadge(operation.state)}${
        isStillActive(operation) ? html` <span class="mark">still active</span>` : ''
      }</td>
<td class="long">${whyHtml(operation)}</td><td>${operationIdLinks(operation.supersedes)}</td>
<td class="long">${askedHtml(operation, options.nowMs)}</td><td class="nowrap">${ago(operation.finished_at, options.nowMs)}</td></tr>`,
    ),
  })

const machineCell = ({ ofOneMachine }: OperationTable, operation: OperationView): Html =>
  ofOneMachine ? html`` : html`<td class="long">${machineLink(operation)}</td>`

const askedHtml = ({ created_at: at, created_by: by, cause }: OperationView, nowMs: number): Html =>
  html`${ago(at, nowMs)} <span class="dim">by ${visible(by)}${cause === 'person' ? '' : ` (${cause})`}</span>`

/** Until its return it may be given up; from there on that is said instead. */
export const cancelHtml = (operation: OperationView, back: string): Html =>
  mayCancel(operation)
    ? button({
        action: `/operations/${operation.id}/cancel`,
        text: 'Cancel',
        about: `${operation.kind} of ${visible(operation.machine)}`,
        kind: 'danger',
        back,
      })
    : html`<span class="dim">past its return</span>`

import { html } from 'hono/html'
import type { OperationView } from '../../api/resources/operation/operation-view.ts'
import { variantText } from '../../domain/operation/kinds/kinds.ts'
import { isActive } from '../../domain/operation/kinds/state.ts'
import { many } from '../../domain/text/sentence.ts'
import { outside, visible } from './shown.ts'
import { type Html, shortId } from './view.ts'

/** What changes operations and the machines they are at, and with them these pages. */
export const isAboutOperations = (event: { readonly type: string }): boolean =>
  /^(operation|machine)\./.test(event.type)

const looks: Readonly<Record<OperationView['state'], string>> = {
  queued: 'waiting',
  pending: 'ready',
  running: 'running',
  completed: 'succeeded',
  failed: 'failed',
  canceled: 'off',
  // Neither a success nor a failure: a look of its own.
  superseded: 'superseded',
}

export const operationBadge = (state: OperationView['state']): Html =>
  html`<span class="badge is-${looks[state]}">${state}</span>`

/** The edge of its card. */
export const operationLook = (state: OperationView['state']): string => looks[state]

/** `stop` with what force makes of it in words: a lone exclamation mark is easily not seen, and not heard. */
export const variantWords = ({ kind, force }: Pick<OperationView, 'kind' | 'force'>): Html =>
  force ? html`${kind} <span class="mark">force</span>` : html`${kind}`

export const operationLink = (operation: Pick<OperationView, 'id' | 'kind' | 'force'>): Html =>
  html`<a href="/operations/${operation.id}">${variantWords(operation)}<span class="sr"> ${shortId(operation.id)}</span></a>`

/** One of which only the id is known. */
export const operationIdLink = (id: string): Html =>
  html`<a href="/operations/${id}" aria-label="Operation ${shortId(id)}" title="${id}"><code>${shortId(id)}</code></a>`

export const operationIdLinks = (ids: readonly string[]): Html =>
  html`${ids.map((id, at) => html`${at === 0 ? '' : ', '}${operationIdLink(id)}`)}`

export const machineLink = ({
  machine_id: id,
  machine,
}: Pick<OperationView, 'machine_id' | 'machine'>): Html =>
  html`<a href="/machines/${id}">${outside(machine === '' ? shortId(id) : machine)}</a>`

/** A sentence of ours in which operations are named by their ids: these lead to them. */
export const linkedText = (text: string, ids: readonly (string | null)[]): Html => {
  const [id] = ids.filter((one) => one !== null && text.includes(one))
  if (!id) return html`${visible(text)}`
  const at = text.indexOf(id)
  return html`${visible(text.slice(0, at))}${operationIdLink(id)}${linkedText(text.slice(at + id.length), ids)}`
}

/** It has ended, but what it began has not stopped yet. */
export const isStillActive = ({ finished_at: finished, settled_at: settled }: OperationView): boolean =>
  finished !== null && settled === null

export const mayCancel = ({ finished_at: finished, past_return: past }: OperationView): boolean =>
  finished === null && !past

/** Why it is where it is, in a sentence or two: what it waits for, who took its place, what went wrong. */
export const whyHtml = (operation: OperationView): Html => {
  const { state, message, waits, superseded_by: newer, position, blocker, error } = operation
  if (state === 'superseded' && newer !== null) return linkedText(message, [newer])
  if (state === 'queued')
    return html`${position === null ? 'waits for its turn' : `${many(position, 'operation')} before it`}${
      blocker === null ? '' : html`; at the machine: ${operationIdLink(blocker)}`
    }`
  if (error !== null) return html`${visible(String(error.message ?? message))}`
  if (waits === null) return html`${visible(message)}`
  const older = waits.older.every((id) => waits.detail.includes(id))
    ? ''
    : html` ${operationIdLinks(waits.older)}`
  return html`${visible(message)}${waits.detail === message ? '' : html` <span class="dim">${linkedText(waits.detail, waits.older)}</span>`}${older}`
}

/** How far it is, of one that is at work; nothing where its kind does not tell. */
export const progressHtml = (operation: OperationView): Html => {
  const { state, progress, machine } = operation
  if (!isActive(state) || progress === 0) return html``
  return html`<span class="inline-progress"><progress value="${progress}" max="100" aria-label="Progress of ${variantText(operation)} of ${visible(machine)}"></progress>
<span>${progress} %</span></span>`
}

type Slots = NonNullable<NonNullable<OperationView['waits']>['slots']>

/** What it needs to hold before it goes on: which, how many there are, its place, and who has them. */
export const slotsHtml = (slots: Slots): Html =>
  html`<ul class="reasons">${slots.map(
    ({ token, limit, holds, position, waiters, holders }) =>
      html`<li data-key="${token}"><code>${visible(token)}</code>: ${holds} of ${limit} taken${
        waiters > 0 && position > 0 ? `, place ${position} of ${waiters} in the line` : ''
      }${
        holders.length === 0
          ? ''
          : html`; held by ${holders.map(
              ({ operation_id: id, machine }, at) =>
                html`${at === 0 ? '' : ', '}${machine === null ? '' : html`${outside(machine)} `}${id === null ? '' : operationIdLink(id)}`,
            )}`
      }</li>`,
  )}</ul>`

import { html } from 'hono/html'
import type { OperationReason } from '../../../domain/operation/kinds/reasons.ts'
import { operationReasons } from '../../../domain/operation/kinds/reasons.ts'
import { many } from '../../../domain/text/sentence.ts'
import { linkedText, operationIdLink } from '../../kit/operation-shown.ts'
import type { Page, PageContext } from '../../kit/page.ts'
import { outside } from '../../kit/shown.ts'
import { type Html, table } from '../../kit/view.ts'
import {
  bulkAddressOf,
  bulkVariantOf,
  choiceBody,
  choiceText,
  listAddress,
  type MachineChoice,
  machineChoiceOf,
} from './machine-choice.ts'

/** What the API says became of many, or would. */
export interface BulkOperations {
  readonly matched: number
  readonly left: number
  readonly next_cursor: string | null
  readonly admitted: number
  readonly superseded: number
  readonly queued: number
  readonly refused: readonly { readonly reason: OperationReason; readonly count: number }[]
  readonly items: readonly {
    readonly machine_id: string
    readonly machine: string
    readonly outcome: 'admitted' | 'superseded' | 'queued' | 'refused'
    readonly operation_id: string | null
    readonly supersedes: string | null
    readonly reason: OperationReason | null
    readonly message: string | null
    readonly blocker: string | null
  }[]
}

/** A person looks at some of them; the counts are of all. */
const shownMost = 50

const kindOf = (query: URLSearchParams): string => query.get('kind') ?? ''

/** What would become of each, and how many these are, before a person says that all of them are meant. */
export const machineBulkPage = async ({ ask, query }: PageContext): Promise<Page> => {
  const { kind, force, text } = bulkVariantOf(kindOf(query))
  const choice = machineChoiceOf(query)
  const onConflict = query.get('on_conflict') === 'queue' ? 'queue' : 'supersede'
  const body = { ...choiceBody(choice), kind, force, on_conflict: onConflict, dry_run: true }
  const found = await ask<BulkOperations>('POST /v1/operations/:bulk', { body })
  return {
    title: `${text}: ${choiceText(choice)}`,
    intro: html`${
      found.matched === 0
        ? html`<p class="empty">No machine fits any more. <a href="${listAddress(choice)}">Back to the machines</a></p>`
        : html`<p><strong>${many(found.matched, 'machine')}</strong> ${found.matched === 1 ? 'is' : 'are'} meant. ${found.left > 0 ? `Of the first ${found.items.length}` : 'Of these'}, as it is now: ${wouldText(found)}.</p>
${outcomeTable(found, 'What would become of each')}${confirmForm(query, choice, { found, text, force })}`
    }`,
    parts: [],
  }
}

const wouldText = (found: BulkOperations): string =>
  [
    [found.admitted, 'would begin at once'],
    [found.superseded, 'would take the place of another operation'],
    [found.queued, 'would wait in the queue'],
    [found.refused.reduce((sum, { count }) => sum + count, 0), 'would be refused'],
  ]
    .filter(([count]) => count !== 0)
    .map(([count, words]) => `${count} ${words}`)
    .join(', ')

/** Those that are refused or take a place first: these are what a person looks for. */
const gravity = { refused: 0, superseded: 1, queued: 2, admitted: 3 } as const

const outcomeTable = ({ items }: BulkOperations, label: string): Html => {
  const isDone = items.some(({ operation_id: id }) => id !== null)
  const sorted = items.toSorted((a, b) => gravity[a.outcome] - gravity[b.outcome])
  return html`${table({
    label,
    head: ['Machine', 'Outcome', 'Why', ...(isDone ? ['Operation'] : [])],
    empty: 'None.',
    rows: sorted.slice(0, shownMost).map(
      (
        item,
      ) => html`<tr data-key="${item.machine_id}"><th scope="row" class="long"><a href="/machines/${item.machine_id}">${outside(item.machine)}</a></th>
<td class="nowrap">${outcomeBadge(item.outcome)}</td><td class="long">${whyText(item)}</td>
${isDone ? html`<td>${item.operation_id === null ? '' : operationIdLink(item.operation_id)}</td>` : ''}</tr>`,
    ),
  })}${items.length > shownMost ? html`<p class="more">And ${items.length - shownMost} more.</p>` : ''}`
}

const outcomeLooks = {
  admitted: 'fit',
  superseded: 'running',
  queued: 'waiting',
  refused: 'blocked',
} as const
const outcomeWords = {
  admitted: 'begins',
  superseded: 'takes a place',
  queued: 'queues',
  refused: 'refused',
} as const

const outcomeBadge = (outcome: keyof typeof outcomeLooks): Html =>
  html`<span class="badge is-${outcomeLooks[outcome]}">${outcomeWords[outcome]}</span>`

const whyText = ({
  outcome,
  supersedes,
  reason,
  message,
  blocker,
}: BulkOperations['items'][number]): Html => {
  if (outcome === 'superseded' && supersedes !== null) return html`that of ${operationIdLink(supersedes)}`
  if (outcome !== 'refused') return html``
  const said = message ?? (reason === null ? '' : `${operationReasons[reason].title}.`)
  return html`${linkedText(said, [blocker])}${blocker === null || said.includes(blocker) ? '' : html` ${operationIdLink(blocker)}`}`
}

const confirmForm = (
  query: URLSearchParams,
  choice: MachineChoice,
  { found, text, force }: { readonly found: BulkOperations; readonly text: string; readonly force: boolean },
): Html => {
  const count = found.matched
  const queues = query.get('on_conflict') === 'queue'
  return html`<form class="form" method="post" action="${bulkAddressOf(kindOf(query), choice)}">
<input type="hidden" name="count" value="${count}">
<div class="field"><label for="on-conflict">Where another operation is at the machine</label><select id="on-conflict" name="on_conflict">
<option value="supersede"${queues ? '' : html` selected`}>take its place where that is allowed, else be refused</option>
<option value="queue"${queues ? html` selected` : ''}>wait behind it</option></select></div>
<p class="check"><input type="checkbox" id="sure" name="sure" value="yes" required>
<label for="sure">Yes, ${count === 1 ? 'this one' : `all ${count}`}${force ? '; I know that force pulls the plug' : ''}</label></p>
<div class="buttons"><button type="submit"${force ? html` class="danger"` : ''}>${text} ${many(count, 'machine')}</button>
<a href="${listAddress(choice)}">Leave it</a></div></form>`
}

/** What became of each; those that were refused with the reason, and a way on where some are left. */
export const machineBulkResultPage =
  (query: URLSearchParams, onConflict: string, answer: BulkOperations) => async (): Promise<Page> => {
    const choice = machineChoiceOf(query)
    const { text } = bulkVariantOf(kindOf(query))
    const refused = answer.refused.reduce((sum, { count }) => sum + count, 0)
    const said = [
      `${answer.admitted + answer.superseded} asked`,
      ...(answer.superseded > 0 ? [`${answer.superseded} of them in the place of another`] : []),
      ...(answer.queued > 0 ? [`${answer.queued} queued`] : []),
      ...(refused > 0 ? [`${refused} refused`] : []),
    ]
    return {
      title: `${text}: ${choiceText(choice)}`,
      intro: html`<div class="card is-${refused > 0 ? 'waiting' : 'succeeded'}" role="status"><p><strong>${said.join(', ')}.</strong></p>
${answer.left > 0 ? goOnForm(query, choice, { answer, onConflict }) : ''}</div>
<h2>What became of each</h2>${outcomeTable(answer, 'What became of each')}
<p class="more"><a href="${listAddress(choice)}">To the machines</a>, <a href="/operations">to the operations</a></p>`,
      parts: [],
    }
  }

/** They were confirmed with the others. */
const goOnForm = (
  query: URLSearchParams,
  choice: MachineChoice,
  { answer, onConflict }: { readonly answer: BulkOperations; readonly onConflict: string },
): Html => {
  const { left, next_cursor: cursor } = answer
  const hidden = { sure: 'yes', count: String(left), cursor: cursor ?? '', on_conflict: onConflict }
  return html`<p>${left} ${left === 1 ? 'is' : 'are'} left: it was more than one request may do.</p>
<form class="verb" method="post" action="${bulkAddressOf(kindOf(query), choice)}">
${Object.entries(hidden).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<button type="submit">Go on with the ${left} left</button></form>`
}

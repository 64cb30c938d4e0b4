import { html } from 'hono/html'
import type { OperationView } from '../../../api/resources/operation/operation-view.ts'
import { ApiError } from '../../../api/wire/problem.ts'
import { operationCauses, operationKinds } from '../../../domain/operation/kinds/kinds.ts'
import { endedStates, hasEnded, operationStates } from '../../../domain/operation/kinds/state.ts'
import { many } from '../../../domain/text/sentence.ts'
import { withQuery } from '../../kit/ask.ts'
import { isAboutOperations } from '../../kit/operation-shown.ts'
import { mayOperate, type Page, type PageContext } from '../../kit/page.ts'
import { emptyText, pager } from '../../kit/pager.ts'
import { visible } from '../../kit/shown.ts'
import type { Html } from '../../kit/view.ts'
import { filterBox, filterProblem, orRefused } from '../inventory/filter-box.ts'
import { endedOperations, openOperations } from './operation-table.ts'

interface Operations {
  readonly items: readonly OperationView[]
  readonly next_cursor: string | null
  readonly error_count: number
  readonly errors: readonly { readonly id: string; readonly message: string }[]
}

const openStates = operationStates.filter((state) => !hasEnded(state))
const openMost = '100'
const endedMost = '50'
/** So many of those that wait for a slot say which, and who has it. */
const explainedMost = 20
const filteredEveryMs = 15_000

/** All operations: those that are open first, then what became of the others. */
export const operationsPage = async (context: PageContext): Promise<Page> => {
  const { query } = context
  const found = await orRefused(() => readAll(context))
  const refused = found instanceof ApiError ? found : undefined
  const page = {
    title: 'Operations',
    intro: html`${filterForm(query, refused)}${examples()}`,
    wakesOn: isAboutOperations,
    ...(query.get('filter') ? { everyMs: filteredEveryMs } : {}),
  }
  if (found instanceof ApiError)
    return {
      ...page,
      announce: 'The filter cannot be used.',
      parts: [{ id: 'open', html: filterProblem(found) }],
    }
  const { open, ended } = found
  return {
    ...page,
    announce: open === undefined ? '' : `${many(open.items.length, 'operation')} open.`,
    parts: listParts(context, { open, ended }),
  }
}

interface Found {
  readonly open: Operations | undefined
  readonly ended: Operations | undefined
}

const readAll = async (context: PageContext): Promise<Found> => {
  const { query } = context
  const state = query.get('state')
  const wanted = (states: readonly string[]) => states.filter((one) => !state || one === state)
  const [open, ended] = await Promise.all([
    query.has('cursor') ? undefined : read(context, wanted(openStates), openMost),
    read(context, wanted(endedStates), endedMost, query.get('cursor')),
  ])
  return { open: open && { ...open, items: await explain(context, open.items) }, ended }
}

const listParts = (context: PageContext, { open, ended }: Found): Page['parts'] => {
  const { query, nowMs, path } = context
  const back = mayOperate(context) ? withQuery(path as '/', Object.fromEntries(query)) : undefined
  const shown = { nowMs, ofOneMachine: false, back } as const
  return [
    { id: 'open', html: openHtml(open, shown, query) },
    { id: 'ended', html: endedHtml(ended, shown, query) },
  ]
}

/** Undefined where the question leaves none of these states. */
const read = async (
  { ask, query }: PageContext,
  states: readonly string[],
  limit: string,
  cursor: string | null = null,
): Promise<Operations | undefined> =>
  states.length === 0
    ? undefined
    : await ask<Operations>(
        `GET ${withQuery('/v1/operations', {
          state: states.join(','),
          kind: query.get('kind'),
          machine: query.get('machine'),
          cause: query.get('cause'),
          target: query.get('target'),
          filter: query.get('filter'),
          limit,
          cursor,
        })}`,
      )

/** A list does not say who holds the slots that are waited for. */
const explain = async (
  { ask }: PageContext,
  operations: readonly OperationView[],
): Promise<readonly OperationView[]> => {
  const waiting = operations.filter(({ reason }) => reason === 'awaiting-slot').slice(0, explainedMost)
  const full = await Promise.all(waiting.map(({ id }) => ask<OperationView>(`GET /v1/operations/${id}`)))
  const byId = new Map(full.map((operation) => [operation.id, operation]))
  return operations.map((operation) => byId.get(operation.id) ?? operation)
}

type Shown = Pick<Parameters<typeof openOperations>[0], 'nowMs' | 'ofOneMachine' | 'back'>

const openHtml = (found: Operations | undefined, shown: Shown, query: URLSearchParams): Html =>
  found === undefined
    ? html``
    : html`<h2>Open</h2>${errorsHtml(found)}${openOperations({
        ...shown,
        operations: found.items,
        label: 'Open operations',
        empty: emptyText(query, 'No operation is open.'),
      })}${found.next_cursor === null ? '' : html`<p class="more">There are more; ask for less above to see them.</p>`}`

const endedHtml = (found: Operations | undefined, shown: Shown, query: URLSearchParams): Html =>
  found === undefined
    ? html``
    : html`<h2>Ended</h2>${errorsHtml(found)}${endedOperations({
        ...shown,
        operations: found.items,
        label: 'Ended operations',
        empty: emptyText(query, 'No operation has ended.'),
      })}${pager('/operations', query, found.next_cursor)}`

const errorsHtml = ({ error_count: count, errors }: Operations): Html =>
  count === 0
    ? html``
    : html`<p class="count-line">The filter could not judge ${many(count, 'operation')}: ${visible(errors[0]?.message ?? '')}</p>`

const filterForm = (query: URLSearchParams, refused: ApiError | undefined): Html => {
  const select = (name: string, label: string, values: readonly string[]) =>
    html`<div><label for="f-${name}">${label}</label><select id="f-${name}" name="${name}"><option value="">any</option>
${values.map((value) => html`<option value="${value}"${value === query.get(name) ? html` selected` : ''}>${value}</option>`)}</select></div>`
  const word = (name: string, label: string, most: number, hint: string) =>
    html`<div><label for="f-${name}">${label}</label><input id="f-${name}" name="${name}" value="${query.get(name) ?? ''}" maxlength="${most}" autocomplete="off" placeholder="${hint}"></div>`
  return filterBox({
    action: '/operations',
    query,
    refused,
    label: 'Filter (CEL)',
    placeholder: 'state == "failed" && retryable',
    keep: [],
    more: html`${select('kind', 'Kind', operationKinds)}${select('state', 'State', operationStates)}${select('cause', 'Wanted by', operationCauses)}
${word('machine', 'Machine', 255, 'name or id')}${word('target', 'Target', 63, 'name')}`,
  })
}

const written = [
  'state == "failed" && retryable',
  'kind in ["migrate", "evict"] && reason == "awaiting-slot"',
  'created_by != "ada" && created_at > "2026-01-01"',
]

const examples = (): Html => html`<details><summary>How to write a filter</summary>
<p>An expression over the fields of an operation; it shows those for which it is true.</p>
<ul>${written.map((text) => html`<li><a href="/operations?filter=${encodeURIComponent(text)}"><code>${text}</code></a></li>`)}</ul></details>`

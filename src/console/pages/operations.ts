import { html } from 'hono/html'
import type { OperationView } from '../../api/resources/operation-view.ts'
import { operationKinds } from '../../domain/operation/kinds.ts'
import { endedStates, hasEnded, operationStates } from '../../domain/operation/state.ts'
import { withQuery } from '../ask.ts'
import { isAboutOperations } from '../operation-shown.ts'
import { mayOperate, type Page, type PageContext } from '../page.ts'
import { many } from '../shown.ts'
import type { Html } from '../view.ts'
import { pager } from './jobs.ts'
import { endedOperations, openOperations } from './operation-table.ts'

interface Operations {
  readonly items: readonly OperationView[]
  readonly next_cursor: string | null
}

const openStates = operationStates.filter((state) => !hasEnded(state))
const openMost = '100'
const endedMost = '50'
/** So many of those that wait for a slot say which, and who has it. */
const explainedMost = 20

/** All operations: those that are open first, then what became of the others. */
export const operationsPage = async (context: PageContext): Promise<Page> => {
  const { query, nowMs, path } = context
  const state = query.get('state')
  const wanted = (states: readonly string[]) => states.filter((one) => !state || one === state)
  const [open, ended] = await Promise.all([
    query.has('cursor') ? undefined : read(context, wanted(openStates), openMost),
    read(context, wanted(endedStates), endedMost, query.get('cursor')),
  ])
  const explained = open && (await explain(context, open.items))
  const back = mayOperate(context) ? withQuery(path as '/', Object.fromEntries(query)) : undefined
  const shown = { nowMs, ofOneMachine: false, back } as const
  return {
    title: 'Operations',
    intro: filterForm(query),
    announce: open === undefined ? '' : `${many(open.items.length, 'operation')} open.`,
    wakesOn: isAboutOperations,
    parts: [
      { id: 'open', html: openHtml(explained, open?.next_cursor ?? null, shown) },
      { id: 'ended', html: endedHtml(ended, shown, query) },
    ],
  }
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
          ...{ state: states.join(','), kind: query.get('kind'), machine: query.get('machine') },
          ...{ cause: query.get('cause'), limit, cursor },
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

const openHtml = (
  operations: readonly OperationView[] | undefined,
  next: string | null,
  shown: Shown,
): Html =>
  operations === undefined
    ? html``
    : html`<h2>Open</h2>${openOperations({
        ...{ ...shown, operations, label: 'Open operations' },
        empty: 'No operation is open.',
      })}${next === null ? '' : html`<p class="more">There are more; ask for less above to see them.</p>`}`

const endedHtml = (found: Operations | undefined, shown: Shown, query: URLSearchParams): Html =>
  found === undefined
    ? html``
    : html`<h2>Ended</h2>${endedOperations({
        ...{ ...shown, operations: found.items, label: 'Ended operations' },
        empty: 'No operation has ended that fits.',
      })}${pager('/operations', query, found.next_cursor)}`

const causes = ['person', 'evacuation', 'policy'] as const

const filterForm = (query: URLSearchParams): Html => {
  const select = (name: string, label: string, values: readonly string[]) =>
    html`<div><label for="f-${name}">${label}</label><select id="f-${name}" name="${name}"><option value="">any</option>
${values.map((value) => html`<option value="${value}"${value === query.get(name) ? html` selected` : ''}>${value}</option>`)}</select></div>`
  return html`<form class="filter" method="get" action="/operations" role="search">
${select('kind', 'Kind', operationKinds)}${select('state', 'State', operationStates)}${select('cause', 'Wanted by', causes)}
<div><label for="f-machine">Machine</label><input id="f-machine" name="machine" value="${query.get('machine') ?? ''}" maxlength="255" autocomplete="off" placeholder="name or id"></div>
<button type="submit">Filter</button> <a href="/operations">Clear</a></form>`
}

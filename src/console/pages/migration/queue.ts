import { html } from 'hono/html'
import type { EntrySummary } from '../../../api/resources/migration/queue-view.ts'
import { entryStates } from '../../../domain/migration/entry/entry.ts'
import { listPage } from '../../kit/list-page.ts'
import { mayOperate } from '../../kit/page.ts'
import { emptyText, onwards } from '../../kit/pager.ts'
import type { Html } from '../../kit/view.ts'
import { bulkLinks, bulkOffers, choiceOf, type EntryChoice } from './bulk-choice.ts'
import { entryTable } from './entry-table.ts'

const pageSize = '50'

/** What changes entries, and with them these pages. */
export const isAboutEntries = (event: { readonly type: string }): boolean =>
  /^(entry|batch)\./.test(event.type)

/** Every entry: the journey of one machine in one batch. */
export const queuePage = listPage<EntrySummary>({
  title: 'Queue',
  from: '/v1/queue',
  sets: ({ query }) => ({ ...choiceOf(query), limit: pageSize }),
  part: 'entries',
  intro: (context) =>
    html`${filterForm(context.query)}${mayOperate(context) ? bulkHtml(choiceOf(context.query)) : ''}`,
  wakesOn: isAboutEntries,
  words: onwards,
  list: (entries, { nowMs, query }) =>
    entryTable({
      label: 'Entries',
      entries,
      nowMs,
      empty: emptyText(query, 'There is no entry. A batch that is started has one for each of its machines.'),
      ofOneBatch: false,
    }),
})

const bulkHtml = (choice: EntryChoice): Html =>
  bulkOffers(choice).length === 0
    ? html``
    : html`<p class="bulk"><span>What fits:</span> ${bulkLinks(choice)}</p>`

const filterForm = (
  query: URLSearchParams,
): Html => html`<form class="filter" method="get" action="/queue" role="search">
<div><label for="f-state">State</label><select id="f-state" name="state"><option value="">any</option>
${entryStates.map((state) => html`<option value="${state}"${state === query.get('state') ? html` selected` : ''}>${state}</option>`)}</select></div>
${(['batch', 'source', 'target'] as const).map(
  (name) => html`<div><label for="f-${name}">${name.replace(/^./, (first) => first.toUpperCase())}</label>
<input id="f-${name}" name="${name}" value="${query.get(name) ?? ''}" maxlength="63" autocomplete="off"></div>`,
)}
<button type="submit">Filter</button> <a href="/queue">Clear</a></form>`

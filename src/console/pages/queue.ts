import { html } from 'hono/html'
import { entryStates } from '../../domain/migration/entry.ts'
import { withQuery } from '../ask.ts'
import type { EntrySeen } from '../entry-shown.ts'
import { mayOperate, type Page, type PageContext } from '../page.ts'
import type { Html } from '../view.ts'
import { bulkLinks, bulkOffers, choiceOf, type EntryChoice } from './bulk-choice.ts'
import { entryTable } from './entry-table.ts'
import { onwards, pager } from './jobs.ts'

const pageSize = '50'

/** What changes entries, and with them these pages. */
export const isAboutEntries = (event: { readonly type: string }): boolean =>
  /^(entry|batch)\./.test(event.type)

/** Every entry: the journey of one machine in one batch. */
export const queuePage = async (context: PageContext): Promise<Page> => {
  const { ask, query, nowMs } = context
  const choice = choiceOf(query)
  const found = await ask<{ items: EntrySeen[]; next_cursor: string | null }>(
    `GET ${withQuery('/v1/queue', { ...choice, cursor: query.get('cursor'), limit: pageSize })}`,
  )
  return {
    title: 'Queue',
    intro: html`${filterForm(query)}${mayOperate(context) ? bulkHtml(choice) : ''}`,
    wakesOn: isAboutEntries,
    parts: [
      {
        id: 'entries',
        html: html`${entryTable({
          label: 'Entries',
          entries: found.items,
          nowMs,
          empty: 'No entry fits. A batch that is started has one for each of its machines.',
          ofOneBatch: false,
        })}${pager('/queue', query, found.next_cursor, onwards)}`,
      },
    ],
  }
}

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

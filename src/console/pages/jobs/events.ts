import { html } from 'hono/html'
import type { EventView } from '../../../api/resources/jobs/event-view.ts'
import { eventWords } from '../../../domain/event-words.ts'
import type { Page, PageContext } from '../../kit/page.ts'
import { emptyText } from '../../kit/pager.ts'
import { ago, type Html, jobLink, table } from '../../kit/view.ts'

const shown = 100

/** The newest events on top. A fleet at full speed writes more than anybody can read: this is a window, not a log. */
export const eventsPage = async ({ screens, nowMs, query }: PageContext): Promise<Page> => {
  const type = query.get('type') ?? ''
  const events = await screens.latestEvents({ limit: shown, prefix: type })
  return {
    title: 'Events',
    intro: html`<p>The last ${shown} events, the newest first. All of them: <a href="/v1/events">/v1/events</a>, or <code>drover events --follow</code>.</p>
<form class="filter" method="get" action="/events" role="search"><div><label for="f-type">Type begins with</label>
<input id="f-type" name="type" value="${type}" placeholder="job.failed" autocomplete="off"></div>
<button type="submit">Filter</button> <a href="/events">Clear</a></form>`,
    wakesOn: (event) => event.type.startsWith(type),
    parts: [
      {
        id: 'events',
        html: table({
          label: 'Events',
          head: ['When', 'What', 'About', 'By', 'Change', 'Why'],
          empty: emptyText(query, 'No event yet.'),
          rows: events.map((event) => eventRow(event, nowMs)),
        }),
      },
    ],
  }
}

const eventRow = (event: EventView, nowMs: number): Html => html`<tr data-key="${event.id}">
<td class="nowrap">${ago(event.at, nowMs)}</td><td class="nowrap"><code>${event.type}</code></td>
<td class="long">${event.job_id === null ? `${event.subject.type}/${event.subject.id}` : jobLink(event.job_id)}</td>
<td class="long">${event.actor}</td><td class="nowrap">${event.from ?? ''}${event.from !== null && event.to !== null ? ' → ' : ''}${event.to ?? ''}</td>
<td>${eventWords(event)}</td></tr>`

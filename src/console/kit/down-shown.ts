import { html } from 'hono/html'
import type { DownListView, DownView } from '../../api/resources/fleet/down-view.ts'
import { type DownVerb, downBefore } from '../../domain/migration/batch/downtime.ts'
import { many } from '../../domain/text/sentence.ts'
import { utcText } from '../../domain/text/utc-text.ts'
import { outside, visible } from './shown.ts'
import { ago, type Html } from './view.ts'

const times = ({ since, shutdown, times, until }: DownView, nowMs: number): Html =>
  shutdown
    ? html`was ${times}`
    : html`went off ${ago(since, nowMs)}, ${until === null ? 'no end is set' : html`on again by ${utcText(Date.parse(until))} at the latest`}`

/** The first thing that is said where machines are off: who, since when, until when, and what brings each back. */
export const downListHtml = ({ count, head, entries }: DownListView, nowMs: number): Html => {
  if (count === 0) return html``
  const rest = count - entries.length
  return html`<div class="down" role="group" aria-label="Machines that are off"><p><strong>${head}</strong></p><ul class="reasons">${entries.map(
    (
      one,
    ) => html`<li data-key="${one.id}"><a href="/queue/${one.id}">${outside(one.instance)}</a> ${times(one, nowMs)}.
<span class="dim">${visible(one.because)}</span></li>`,
  )}</ul>${rest > 0 ? html`<p class="dim">And ${many(rest, 'machine')} more.</p>` : ''}</div>`
}

/** The same of one entry, on its own page. */
export const downHtml = (down: DownView | null, nowMs: number): Html =>
  down === null
    ? html``
    : html`<div class="down"><p><strong>${down.shutdown ? 'Its source still runs:' : 'Its source is off:'}</strong> it ${times(down, nowMs)}.</p><p>${visible(down.because)}</p></div>`

/** In a list: since when it is off. */
export const downMark = (down: DownView | null, nowMs: number): Html =>
  down === null ? html`` : html` <span class="mark is-down">${times(down, nowMs)}</span>`

/** What a person reads before a verb: who is off, and what the verb makes of them. */
export const downBeforeHtml = (verb: DownVerb, down: Pick<DownListView, 'count' | 'message'>): Html =>
  down.count === 0 ? html`` : html`<p><strong>${visible(downBefore(verb, down))}</strong></p>`

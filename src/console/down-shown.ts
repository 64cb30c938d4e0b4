import { html } from 'hono/html'
import { type DownVerb, downBefore } from '../domain/migration/downtime.ts'
import { utcText } from '../domain/utc-text.ts'
import { many, outside, visible } from './shown.ts'
import { ago, type Html } from './view.ts'

/** Since when a machine is off because of us, and until when. */
export interface DownSeen {
  readonly since: string
  readonly until: string | null
  readonly because: string
}

export interface DownListSeen {
  readonly count: number
  readonly message: string
  readonly entries: readonly (DownSeen & { readonly id: string; readonly instance: string })[]
}

const times = ({ since, until }: DownSeen, nowMs: number): Html =>
  html`went off ${ago(since, nowMs)}, ${until === null ? 'no end is set' : html`on again by ${utcText(Date.parse(until))} at the latest`}`

/** The first thing that is said where machines are off: who, since when, until when, and what brings each back. */
export const downListHtml = ({ count, entries }: DownListSeen, nowMs: number): Html => {
  if (count === 0) return html``
  const rest = count - entries.length
  return html`<div class="down" role="group" aria-label="Machines that are off"><p><strong>${
    count === 1 ? '1 machine is off for its migration' : `${count} machines are off for their migration`
  }</strong></p><ul class="reasons">${entries.map(
    (
      one,
    ) => html`<li data-key="${one.id}"><a href="/queue/${one.id}">${outside(one.instance)}</a> ${times(one, nowMs)}.
<span class="dim">${visible(one.because)}</span></li>`,
  )}</ul>${rest > 0 ? html`<p class="dim">And ${many(rest, 'machine')} more.</p>` : ''}</div>`
}

/** The same of one entry, on its own page. */
export const downHtml = (down: DownSeen | null, nowMs: number): Html =>
  down === null
    ? html``
    : html`<div class="down"><p><strong>Its source is off:</strong> it ${times(down, nowMs)}.</p><p>${visible(down.because)}</p></div>`

/** In a list: since when it is off. */
export const downMark = (down: DownSeen | null, nowMs: number): Html =>
  down === null ? html`` : html` <span class="mark is-down">${times(down, nowMs)}</span>`

/** What a person reads before a verb: who is off, and what the verb makes of them. */
export const downBeforeHtml = (verb: DownVerb, down: Pick<DownListSeen, 'count' | 'message'>): Html =>
  down.count === 0 ? html`` : html`<p><strong>${visible(downBefore(verb, down))}</strong></p>`

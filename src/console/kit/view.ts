import { html } from 'hono/html'
import type { JobState } from '../../domain/job/state.ts'

/** A piece of a page: every value put into the template was escaped. */
export type Html = ReturnType<typeof html>

/** Pieces after each other. */
export const joined = (...pieces: readonly Html[]): Html => html`${pieces}`

const units: readonly [seconds: number, name: string][] = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
  [1, 's'],
]

/** A span of time in its two largest units: `2 h 5 min`. */
export const duration = (ms: number): string => {
  let rest = Math.max(0, Math.round(ms / 1_000))
  const parts: string[] = []
  for (const [seconds, name] of units) {
    const count = Math.floor(rest / seconds)
    if (count === 0 && parts.length === 0 && seconds > 1) continue
    rest -= count * seconds
    if (count > 0 || parts.length === 0) parts.push(`${count} ${name}`)
    if (parts.length === 2) break
  }
  return parts.join(' ')
}

const agoOf = (ms: number): string => {
  const [first = ''] = duration(Math.abs(ms)).match(/^\d+ \S+/) ?? []
  if (Math.abs(ms) < 1_000) return 'now'
  return ms > 0 ? `${first} ago` : `in ${first}`
}

/** A moment as people say it, with the exact one for who needs it. */
export const ago = (at: string | Date | null, nowMs: number): Html => {
  if (at === null) return html`<span class="dim">never</span>`
  const exact = (typeof at === 'string' ? new Date(at) : at).toISOString()
  return html`<time datetime="${exact}" title="${exact.replace('T', ' ').replace('Z', ' UTC')}">${agoOf(nowMs - Date.parse(exact))}</time>`
}

const stateWords: Readonly<Record<string, string>> = { 'cancel-requested': 'cancel requested' }

/** A state as a word with a mark; the mark's colour never says anything that the word does not. */
export const badge = (state: string): Html =>
  html`<span class="badge is-${state}">${stateWords[state] ?? state}</span>`

export const jobLink = (id: string): Html =>
  html`<a href="/jobs/${id}" aria-label="Job ${shortId(id)}" title="${id}"><code>${shortId(id)}</code></a>`

/** The end of an id: its beginning is a time, which neighbours share. */
export const shortId = (id: string): string => `…${id.slice(-8)}`

/** A table that scrolls by itself on a small screen, also by keyboard. */
export const table = (options: {
  readonly label: string
  readonly head: readonly (string | Html)[]
  readonly rows: readonly Html[]
  readonly empty: string | Html
}): Html =>
  options.rows.length === 0
    ? html`<p class="empty">${options.empty}</p>`
    : html`<div class="scroll" role="region" aria-label="${options.label}" tabindex="0"><table>
<thead><tr>${options.head.map((cell) => html`<th scope="col">${cell}</th>`)}</tr></thead>
<tbody>${options.rows}</tbody></table></div>`

const barStates: readonly JobState[] = ['succeeded', 'failed', 'canceled', 'running', 'waiting']

/**
 * How far something with many jobs is, as one bar of many parts. Its sizes are attributes of the drawing,
 * because the page allows no style of its own. Screen readers get the numbers.
 */
export const stackedBar = (label: string, counts: Readonly<Record<string, number>>, total: number): Html => {
  const ended = (counts.succeeded ?? 0) + (counts.failed ?? 0) + (counts.canceled ?? 0)
  let x = 0
  const parts = barStates.map((state) => {
    const width = total === 0 ? 0 : ((counts[state] ?? 0) / total) * 100
    const part = html`<rect class="is-${state}" x="${x.toFixed(3)}" width="${width.toFixed(3)}" height="10"/>`
    x += width
    return part
  })
  return html`<div class="bar" role="progressbar" aria-label="${label}" aria-valuemin="0" aria-valuemax="${total}"
 aria-valuenow="${ended}" aria-valuetext="${ended} of ${total} jobs ended"><svg viewBox="0 0 100 10"
 preserveAspectRatio="none" aria-hidden="true">${parts}</svg></div>`
}

/** What a running job says of itself; nothing when it says nothing. */
export const jobProgress = (progress: Record<string, unknown> | null): Html => {
  const done = Number(progress?.done)
  const total = Number(progress?.total)
  if (!(total > 0) || !(done >= 0)) return html`<span class="dim">no word yet</span>`
  const phase = typeof progress?.phase === 'string' ? `${progress.phase}: ` : ''
  return html`<span class="inline-progress"><progress value="${done}" max="${total}" aria-label="Progress"></progress>
<span>${phase}${done} of ${total}</span></span>`
}

/** A form of one button: a POST to ourselves, which only our own pages may send. */
export const button = (options: {
  readonly action: string
  readonly text: string
  readonly about?: string
  readonly kind?: 'danger'
  readonly back?: string
}): Html => html`<form method="post" action="${options.action}" class="verb">
${options.back === undefined ? '' : html`<input type="hidden" name="back" value="${options.back}">`}
<button type="submit"${options.kind === 'danger' ? html` class="danger"` : ''}>${options.text}${
  options.about === undefined ? '' : html`<span class="sr"> ${options.about}</span>`
}</button></form>`

export const definition = (rows: readonly (readonly [string, unknown])[]): Html =>
  html`<dl>${rows.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`

export const jsonBlock = (label: string, value: unknown): Html =>
  html`<details><summary>${label}</summary><pre tabindex="0">${JSON.stringify(value, null, 2)}</pre></details>`

/** Links to the same page with one question answered otherwise; what else was asked for is kept, but for the place. */
export const tabs = (options: {
  readonly label: string
  readonly path: string
  readonly query: URLSearchParams
  readonly name: string
  readonly choices: readonly (readonly [value: string, text: string])[]
}): Html => {
  const { label, path, query, name, choices } = options
  const chosen = query.get(name) ?? ''
  const address = (value: string): string => {
    const asked = new URLSearchParams(query)
    asked.delete('cursor')
    if (value === '') asked.delete(name)
    else asked.set(name, value)
    return asked.size === 0 ? path : `${path}?${asked}`
  }
  return html`<nav class="tabs" aria-label="${label}"><ul>${choices.map(
    ([value, text]) =>
      html`<li><a class="tab" href="${address(value)}"${chosen === value ? html` aria-current="true"` : ''}>${text}</a></li>`,
  )}</ul></nav>`
}

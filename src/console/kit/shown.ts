import { html } from 'hono/html'
import { printable } from '../../print/printable.mjs'
import type { Html } from './view.ts'

/** Text from a platform or a guest as it may be shown, as a terminal shows it too. */
export const visible = printable

/** A name from outside, apart from the direction of what stands around it. */
export const outside = (text: string): Html => html`<bdi>${visible(text)}</bdi>`

const readinessWords: Readonly<Record<string, readonly [word: string, look: string]>> = {
  ready: ['ready', 'fit'],
  warning: ['warnings', 'wary'],
  blocked: ['blocked', 'blocked'],
}

export const readinessBadge = (readiness: string): Html => {
  const [word, look] = readinessWords[readiness] ?? [readiness, 'unknown']
  return html`<span class="badge is-${look}">${word}</span>`
}

const connectionWords: Readonly<Record<string, readonly [word: string, look: string]>> = {
  ok: ['connected', 'fit'],
  unknown: ['not checked yet', 'unknown'],
  'cannot-connect': ['cannot connect', 'blocked'],
  'tls-error': ['no safe connection', 'blocked'],
  'confirm-fingerprint': ['confirm the certificate', 'wary'],
  'authentication-error': ['not let in', 'blocked'],
}

export const connectionBadge = (state: string): Html => {
  const [word, look] = connectionWords[state] ?? [state, 'unknown']
  return html`<span class="badge is-${look}">${word}</span>`
}

/** The site that something belongs to, as a link. */
export const siteLink = ({ source, target }: { source: string | null; target: string | null }): Html => {
  const [path, name] = source === null ? ['targets', target ?? ''] : ['sources', source]
  return html`<a href="/${path}/${encodeURIComponent(name)}">${name}</a>`
}

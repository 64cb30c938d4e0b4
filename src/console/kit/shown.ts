import { html } from 'hono/html'
import { printable } from '../../print/printable.mjs'
import type { Html } from './view.ts'

/** Text from a platform or a guest as it may be shown, as a terminal shows it too. */
export const visible = printable

/** A name from outside, apart from the direction of what stands around it. */
export const outside = (text: string): Html => html`<bdi>${visible(text)}</bdi>`

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const

/** `512 GiB`, `1.5 TiB`. */
export const bytes = (count: number): string => {
  const power = count < 1 ? 0 : Math.min(Math.floor(Math.log2(count) / 10), units.length - 1)
  const value = count / 1_024 ** power
  return `${value >= 10 || Number.isInteger(value) ? Math.round(value) : value.toFixed(1)} ${units[power]}`
}

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

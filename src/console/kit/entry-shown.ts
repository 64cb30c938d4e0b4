import { html } from 'hono/html'
import type { EntrySummary } from '../../api/resources/migration/queue-view.ts'
import { bytes } from '../../domain/text/bytes.ts'
import { outside, visible } from './shown.ts'
import { duration, type Html } from './view.ts'

const looks: Readonly<Record<string, string>> = {
  blocked: 'blocked',
  waiting: 'waiting',
  idle: 'waiting',
  finished: 'succeeded',
  error: 'failed',
  canceled: 'off',
  conflict: 'wary',
  // Of batches.
  defined: 'ready',
  stopped: 'waiting',
}

/** A state of an entry or of a batch as a word with a mark. */
export const stateBadge = (state: string): Html =>
  html`<span class="badge is-${looks[state] ?? 'running'}">${state}</span>`

const cards: Readonly<Record<string, string>> = {
  finished: 'succeeded',
  error: 'failed',
  blocked: 'failed',
  conflict: 'waiting',
  waiting: 'waiting',
  stopped: 'waiting',
}

/** The edge of a state's card. */
export const cardLook = (state: string): string => cards[state] ?? 'running'

export const phaseWords = (phase: string): string => visible(phase.replaceAll('-', ' '))

/** How far, how fast, how long still; nothing where nothing is known. */
export const bytesProgress = (
  label: string,
  progress: {
    readonly bytes_done: number
    readonly bytes_total: number
    readonly bytes_per_second: number | null
    readonly eta_seconds: number | null
  } | null,
): Html => {
  if (progress === null || progress.bytes_total <= 0)
    return html`<span class="dim">nothing to copy yet</span>`
  const { bytes_done: done, bytes_total: total, bytes_per_second: rate, eta_seconds: eta } = progress
  const words = [
    `${bytes(done)} of ${bytes(total)}`,
    ...(rate !== null && rate > 0 ? [`${bytes(rate)}/s`] : []),
    ...(eta !== null && eta > 0 ? [`${duration(eta * 1_000)} left`] : []),
  ]
  return html`<span class="inline-progress"><progress value="${done}" max="${total}" aria-label="${label}"></progress>
<span>${words.join(', ')}</span></span>`
}

export const entryLink = ({ id, name }: Pick<EntrySummary, 'id' | 'name'>): Html =>
  html`<a href="/queue/${id}">${outside(name)}</a>`

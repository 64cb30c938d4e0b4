import { html } from 'hono/html'
import type { EntrySummary } from '../../../api/resources/migration/queue-view.ts'
import { mayOperate, type PageContext } from '../../kit/page.ts'
import type { Html } from '../../kit/view.ts'
import type { BatchDetailSeen } from './batch.ts'
import { bulkLinks } from './bulk-choice.ts'
import { entryTable } from './entry-table.ts'

/** More than this of one state nobody reads here; the queue has all of them. */
const shownEach = 10

const states = ['conflict', 'error', 'blocked'] as const
type Held = Readonly<Record<(typeof states)[number], readonly EntrySummary[]>>

/** The first entries of each state in which an entry does not go on by itself, or not now. */
export const readHeld = async ({ ask }: PageContext, batch: BatchDetailSeen): Promise<Held> => {
  const [conflict, error, blocked] = await Promise.all(
    states.map(async (state) =>
      (batch.entries[state] ?? 0) === 0
        ? []
        : (
            await ask<{ items: EntrySummary[] }>(
              `GET /v1/queue?batch=${batch.name}&state=${state}&limit=${shownEach}`,
            )
          ).items,
    ),
  )
  return { conflict: conflict ?? [], error: error ?? [], blocked: blocked ?? [] }
}

/** What only a person ends: conflicts and errors, and nothing that heals by itself. */
export const needyHtml = (context: PageContext, batch: BatchDetailSeen, held: Held): Html => {
  const entries = [...held.conflict, ...held.error]
  if (entries.length === 0) return html``
  return html`<h2>What waits for you</h2>${entryTable({
    label: 'Entries that wait for a person',
    entries,
    nowMs: context.nowMs,
    empty: '',
    ofOneBatch: true,
    progress: false,
  })}${moreOf(batch, 'conflict', held.conflict.length)}${moreOf(batch, 'error', held.error.length)}
${mayOperate(context) ? html`${actions(batch, 'conflict', 'in conflict')}${actions(batch, 'error', 'in error')}` : ''}`
}

/** What is blocked: it goes on by itself when its cause is gone. */
export const heldHtml = (context: PageContext, batch: BatchDetailSeen, held: Held): Html =>
  held.blocked.length === 0
    ? html``
    : html`<h2>What waits for something to change</h2>
<p>Each goes on by itself as soon as its cause is gone; nobody has to tell it.</p>${entryTable({
        label: 'Blocked entries',
        entries: held.blocked,
        nowMs: context.nowMs,
        empty: '',
        ofOneBatch: true,
        progress: false,
      })}${moreOf(batch, 'blocked', held.blocked.length)}`

const words = { conflict: 'in conflict', error: 'in error', blocked: 'blocked' } as const

const moreOf = (batch: BatchDetailSeen, state: keyof Held, shown: number): Html => {
  const more = (batch.entries[state] ?? 0) - shown
  return more > 0 && shown > 0
    ? html`<p class="more"><a href="/queue?batch=${batch.name}&amp;state=${state}">And ${more} more ${words[state]}</a></p>`
    : html``
}

const actions = (batch: BatchDetailSeen, state: 'conflict' | 'error', said: string): Html => {
  const count = batch.entries[state] ?? 0
  return count < 2
    ? html``
    : html`<p class="bulk"><span>The ${count} ${said}:</span> ${bulkLinks({ batch: batch.name, state })}</p>`
}

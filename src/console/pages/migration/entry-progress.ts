import { html } from 'hono/html'
import type { EntryPlace, EntryStage, EntryState } from '../../../domain/migration/entry/entry.ts'
import {
  applyEntryEvent,
  type EntryEvent,
  type EntryRule,
  entryEvents,
} from '../../../domain/migration/entry/entry-table.ts'
import { stateBadge } from '../../kit/entry-shown.ts'
import { type Html, table } from '../../kit/view.ts'

export interface ProgressStep extends EntryPlace {
  readonly says: string
  readonly is: 'done' | 'now' | 'ahead'
}

/** The way of a machine to which nothing happens; where it leads is the table's word. */
const plainWay: readonly EntryEvent[] = [
  'create',
  'created',
  'sync-begin',
  'sync-done',
  'cutover-begin',
  'copied',
  'post-begin',
  'post-done',
  'verified',
]

interface Stop extends EntryPlace {
  readonly says: string
}

const walk = (): Stop[] => {
  const stops: Stop[] = [
    { state: 'waiting', stage: 'background', says: 'It waits for its place on a target.' },
  ]
  for (const event of plainWay) {
    const from = stops.at(-1) as Stop
    const answer = applyEntryEvent(from, event)
    if (!answer.allowed || !answer.to) throw new Error(`The table does not know ${event} in ${from.state}.`)
    stops.push({ ...answer.to, says: answer.rule.says })
  }
  return stops
}

/** Where it stands that left the way: before what it had not reached. */
const lastReached: Readonly<Record<EntryStage, EntryPlace>> = {
  background: { state: 'waiting', stage: 'background' },
  final: { state: 'idle', stage: 'final' },
  complete: { state: 'worker-done', stage: 'complete' },
}

const isAt = (place: EntryPlace) => (stop: EntryPlace) =>
  stop.state === place.state && (stop.stage === place.stage || place.state !== 'idle')

/** The way as it is drawn: what is done, where it is, what comes; and whether it left the way. Pure. */
export const entryProgressOf = (place: EntryPlace): { steps: readonly ProgressStep[]; aside: boolean } => {
  const stops = walk()
  const found = stops.findIndex(isAt(place))
  const at = found >= 0 ? found : stops.findIndex(isAt(lastReached[place.stage]))
  const aside = found < 0
  const lastIs = place.state === 'finished'
  return {
    aside,
    steps: stops.map((stop, index) => ({
      ...stop,
      is: index < at || lastIs ? 'done' : index === at && !aside ? 'now' : index === at ? 'done' : 'ahead',
    })),
  }
}

const words: Readonly<Record<ProgressStep['is'], string>> = { done: 'done', now: 'here', ahead: 'to come' }

/** The journey as a line of steps, and all that can happen from where it is. */
export const entryProgressHtml = (place: EntryPlace): Html => {
  const { steps, aside } = entryProgressOf(place)
  return html`<ol class="journey">${steps.map(
    ({
      state,
      stage,
      says,
      is,
    }) => html`<li class="is-${is}"${is === 'now' ? html` aria-current="step"` : ''}>
<strong>${state}</strong>${state === 'idle' ? html` <span class="dim">(${stage})</span>` : ''} <span class="mark">${words[is]}</span>
<span class="says">${says}</span></li>`,
  )}</ol>
${aside ? html`<p>It has left that way: it is ${stateBadge(place.state)}, and its copy is at stage <strong>${place.stage}</strong>.</p>` : ''}
<details><summary>What can happen from here</summary>${fromHere(place)}</details>`
}

const possible = (
  place: EntryPlace,
  events: readonly EntryEvent[],
): { event: EntryEvent; rule: EntryRule; to: string }[] =>
  events.flatMap((event) => {
    const answer = applyEntryEvent(place, event, { force: true })
    if (!answer.allowed) return []
    return [
      {
        event,
        rule: answer.rule,
        to: answer.to === undefined ? 'gone' : `${answer.to.state}, stage ${answer.to.stage}`,
      },
    ]
  })

const sourceWords = { keep: 'stays', start: 'is started again', person: 'is left to a person' } as const
const targetWords = { keep: 'stays', destroy: 'is destroyed', asked: 'goes if you say so' } as const

const fromHere = (place: EntryPlace): Html =>
  table({
    label: 'What can happen from here',
    head: ['What', 'Leads to', 'The source', 'The target', 'Meaning'],
    empty: 'Nothing: its journey is over.',
    rows: possible(place, entryEvents).map(
      ({
        event,
        rule,
        to,
      }) => html`<tr data-key="${event}"><th scope="row" class="nowrap">${event}</th><td class="nowrap">${to}</td>
<td>${sourceWords[rule.source]}</td><td>${targetWords[rule.target]}</td><td class="long">${rule.says}</td></tr>`,
    ),
  })

export const placeOfEntry = (entry: { readonly state: string; readonly stage: string }): EntryPlace => ({
  state: entry.state as EntryState,
  stage: entry.stage as EntryStage,
})

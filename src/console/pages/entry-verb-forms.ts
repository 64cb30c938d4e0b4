import { html } from 'hono/html'
import { type EntryState, isMigrating } from '../../domain/migration/entry.ts'
import { visible } from '../shown.ts'
import type { Html } from '../view.ts'
import { forgetsFinished } from './batch-verb-forms.ts'

export interface EntryVerbSeen {
  readonly verb: string
  /** It must be said twice. */
  readonly force: boolean
}

interface Actionable {
  readonly id: string
  readonly name: string
  readonly verbs: readonly EntryVerbSeen[]
  readonly batch: string
  readonly state: string
  readonly job: unknown
  readonly intent: unknown
  readonly source_stopped_at: string | null
}

const verbTexts: Readonly<Record<string, readonly [text: string, hint: string]>> = {
  resolve: ['Resolve', 'It is checked again; if nothing has changed, it conflicts again.'],
  retry: ['Try again', 'Everything is checked anew, and what is there of ours is taken over.'],
}

/** What a person can do about an entry here; the transition table decides what is offered. */
export const entryVerbForms = (entry: Actionable): Html => {
  const cancel = entry.verbs.find(({ verb }) => verb === 'cancel')
  const plain = entry.verbs.filter(({ verb }) => verb !== 'cancel')
  const buttons = plain.map(
    ({ verb }) => html`<form method="post" action="/queue/${entry.id}/${verb}" class="verb">
<button type="submit" aria-describedby="about-${verb}">${verbTexts[verb]?.[0] ?? verb}</button></form>`,
  )
  return html`${plain.length === 0 ? '' : html`<div class="buttons">${buttons}</div>`}
${plain.map(({ verb }) => html`<p class="hint" id="about-${verb}">${verbTexts[verb]?.[1] ?? ''}</p>`)}
${cancel === undefined ? '' : cancelForm(entry, cancel.force)}${isRemovable(entry) ? removeForm(entry) : ''}`
}

/** Nothing is under way for it, and nothing is owed: what the API asks of an entry that is taken off the list. */
const isRemovable = ({ state, job, intent, source_stopped_at: stopped }: Actionable): boolean =>
  !isMigrating(state as EntryState) &&
  job === null &&
  intent === null &&
  (stopped === null || state === 'finished')

const removeForm = ({ id, name, batch, state }: Actionable): Html =>
  html`<details class="waive"><summary>Take it off the list<span class="sr"> ${visible(name)}</span></summary>
<form method="post" action="/queue/${id}/remove"><input type="hidden" name="back" value="/batches/${batch}">
${
  state === 'finished'
    ? forgetsFinished(1)
    : html`<p>Its instance is free for another batch.</p>
<p class="check"><input type="checkbox" id="cleanup-remove" name="cleanup" value="yes" checked>
<label for="cleanup-remove">Destroy its copy on the target first: without that, an entry that has one stays</label></p>`
}
<p class="check"><input type="checkbox" id="sure-remove" name="sure" value="yes" required>
<label for="sure-remove">Yes, this entry</label></p>
<button type="submit" class="danger">Take it off</button></form></details>`

const cancelForm = (entry: Actionable, needsForce: boolean): Html => {
  const { id, name } = entry
  if (entry.state === 'canceled') return cleanForm(entry)
  return html`<details class="waive"><summary>Cancel it<span class="sr"> ${visible(name)}</span></summary>
<form method="post" action="/queue/${id}/cancel">
<p>It is given up. A source that we switched off is started again, once the copy is proved off.</p>
<p class="check"><input type="checkbox" id="cleanup" name="cleanup" value="yes">
<label for="cleanup">Destroy the machine that was made on the target</label></p>
${
  needsForce
    ? html`<p class="check"><input type="checkbox" id="force" name="force" value="yes" required>
<label for="force">I know that its whole copy is thrown away, just before the end</label></p>`
    : ''
}
<button type="submit" class="danger">Cancel the migration</button></form></details>`
}

/** It was given up before, and something of it is still on the target. */
const cleanForm = ({ id, name }: Actionable): Html =>
  html`<details class="waive"><summary>Clean up what it left<span class="sr"> of ${visible(name)}</span></summary>
<form method="post" action="/queue/${id}/cancel"><p>The machine that was made on the target is destroyed.</p>
<p class="check"><input type="checkbox" id="cleanup" name="cleanup" value="yes" required>
<label for="cleanup">Yes, destroy the machine on the target</label></p>
<button type="submit" class="danger">Clean up</button></form></details>`

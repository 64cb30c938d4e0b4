import { html } from 'hono/html'
import type { EntryChoices } from '../../../api/resources/migration/entry-choices.ts'
import { type EntryState, isMigrating } from '../../../domain/migration/entry/entry.ts'
import { forgetsFinished } from '../../kit/confirm-finished.ts'
import { visible } from '../../kit/shown.ts'
import type { Html } from '../../kit/view.ts'

type ChoiceSeen = EntryChoices[number]

interface Actionable {
  readonly id: string
  readonly name: string
  readonly choices: readonly ChoiceSeen[]
  readonly batch: string
  readonly state: string
  readonly job: unknown
  readonly intent: unknown
  readonly source_stopped_at: string | null
}

const verbTexts: Readonly<Record<string, string>> = { resolve: 'Resolve', retry: 'Try again' }

/** What a person can do about an entry here, each with what it would do: the transition table decides what is offered. */
export const entryVerbForms = (entry: Actionable): Html => {
  const cancels = entry.choices.filter(({ verb }) => verb === 'cancel')
  const others = entry.choices.filter(({ verb }) => verb !== 'cancel')
  return html`${others.map((choice) => goOnForm(entry, choice))}
${cancels.length === 0 ? '' : cancelForm(entry, cancels)}${isRemovable(entry) ? removeForm(entry) : ''}`
}

/** A source may go off soon after: said first, and said yes to. */
const goOnForm = ({ id, name }: Actionable, { verb, does }: ChoiceSeen): Html => {
  const text = verbTexts[verb] ?? verb
  return html`<details class="waive" data-key="verb-${verb}"><summary>${text}<span class="sr"> ${visible(name)}</span></summary>
<form method="post" action="/queue/${id}/${verb}"><p>${visible(does)}</p>
<p class="check"><input type="checkbox" id="sure-${verb}" name="sure" value="yes" required>
<label for="sure-${verb}">Yes, ${text.toLowerCase()}: ${visible(name)}</label></p>
<button type="submit">${text}</button></form></details>`
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

const cancelForm = (entry: Actionable, choices: readonly ChoiceSeen[]): Html => {
  const { id, name } = entry
  const [plain, cleaning] = [false, true].map((cleanup) =>
    choices.find((choice) => choice.cleanup === cleanup),
  )
  if (plain === undefined) return cleanForm(entry, cleaning)
  return html`<details class="waive"><summary>Cancel it<span class="sr"> ${visible(name)}</span></summary>
<form method="post" action="/queue/${id}/cancel">
<p>${visible(plain.does)}</p>
${
  cleaning === undefined
    ? ''
    : html`<p class="check"><input type="checkbox" id="cleanup" name="cleanup" value="yes" aria-describedby="about-cleanup">
<label for="cleanup">Destroy the machine that was made on the target</label></p>
<p class="hint" id="about-cleanup">Then: ${visible(cleaning.does)}</p>`
}
${
  plain.force
    ? html`<p class="check"><input type="checkbox" id="force" name="force" value="yes" required>
<label for="force">I know that its whole copy is thrown away, just before the end</label></p>`
    : ''
}
<button type="submit" class="danger">Cancel the migration</button></form></details>`
}

/** It was given up before, and something of it is still on the target. */
const cleanForm = ({ id, name }: Actionable, choice: ChoiceSeen | undefined): Html =>
  html`<details class="waive"><summary>Clean up what it left<span class="sr"> of ${visible(name)}</span></summary>
<form method="post" action="/queue/${id}/cancel"><p>${visible(choice?.does ?? '')}</p>
<p class="check"><input type="checkbox" id="cleanup" name="cleanup" value="yes" required>
<label for="cleanup">Yes, destroy the machine on the target</label></p>
<button type="submit" class="danger">Clean up</button></form></details>`

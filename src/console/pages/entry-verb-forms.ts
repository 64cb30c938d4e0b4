import { html } from 'hono/html'
import { visible } from '../shown.ts'
import type { Html } from '../view.ts'

export interface EntryVerbSeen {
  readonly verb: string
  /** It must be said twice. */
  readonly force: boolean
}

interface Actionable {
  readonly id: string
  readonly name: string
  readonly verbs: readonly EntryVerbSeen[]
}

const verbTexts: Readonly<Record<string, readonly [text: string, hint: string]>> = {
  resolve: ['Resolve', 'It is checked again; if nothing has changed, it conflicts again.'],
  retry: ['Try again', 'Everything is checked anew, and what is there of ours is taken over.'],
}

/** What a person can do about an entry here; the transition table decides what is offered. */
export const entryVerbForms = (entry: Actionable): Html => {
  const cancel = entry.verbs.find(({ verb }) => verb === 'cancel')
  const plain = entry.verbs.filter(({ verb }) => verb !== 'cancel')
  if (entry.verbs.length === 0) return html``
  return html`<div class="buttons">${plain.map(
    ({ verb }) => html`<form method="post" action="/queue/${entry.id}/${verb}" class="verb">
<button type="submit" aria-describedby="about-${verb}">${verbTexts[verb]?.[0] ?? verb}</button></form>`,
  )}</div>
${plain.map(({ verb }) => html`<p class="hint" id="about-${verb}">${verbTexts[verb]?.[1] ?? ''}</p>`)}
${cancel === undefined ? '' : cancelForm(entry, cancel.force)}`
}

const cancelForm = ({ id, name }: Actionable, needsForce: boolean): Html =>
  html`<details class="waive"><summary>Cancel it<span class="sr"> ${visible(name)}</span></summary>
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

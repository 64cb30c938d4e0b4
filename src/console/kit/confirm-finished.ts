import { html } from 'hono/html'
import { whatStays } from '../../domain/migration/entry/reasons.ts'
import { many } from '../../domain/text/sentence.ts'
import { type Fields, textOf } from './form-request.ts'
import type { Html } from './view.ts'

/** What a person reads and confirms before the list of what was migrated goes, with the number that was shown. */
export const forgetsFinished = (finished: number, meaning: string = whatStays): Html =>
  finished === 0
    ? html``
    : html`<p><strong>${many(finished, 'finished migration is', 'finished migrations are')} forgotten.</strong> ${meaning}</p>
<input type="hidden" name="finished" value="${finished}">
<p class="check"><input type="checkbox" id="sure-finished" name="sure-finished" value="yes" required>
<label for="sure-finished">Yes, forget ${finished === 1 ? 'it' : `all ${finished}`}</label></p>`

/** How many finished migrations the page has told of, and the person has said may be forgotten. */
export const finishedShown = (form: Fields): number | undefined => {
  const shown = Number(textOf(form, 'finished'))
  return textOf(form, 'sure-finished') === 'yes' && Number.isInteger(shown) ? shown : undefined
}

import { html } from 'hono/html'
import { problem } from '../../../api/wire/problem.ts'
import { many } from '../../../domain/text/sentence.ts'
import { withQuery } from '../../kit/ask.ts'
import { downBeforeHtml, downListHtml } from '../../kit/down-shown.ts'
import type { Page, PageContext } from '../../kit/page.ts'
import { visible } from '../../kit/shown.ts'
import { type Html, shortId } from '../../kit/view.ts'
import {
  type BulkVerb,
  bulkAddress,
  bulkTexts,
  bulkVerbOf,
  choiceOf,
  choiceWords,
  type EntryChoice,
} from './bulk-choice.ts'
import { entryTable } from './entry-table.ts'

/** So many of them are shown, so that a person sees whether they are those. */
const shownMax = 20
/** Of one reason for a refusal. */
const refusedShown = 10

/** What the API says became of many. */
export interface BulkAnswer {
  readonly matched: number
  readonly left: number
  readonly next_cursor: string | null
  readonly items: readonly {
    readonly id: string
    readonly outcome: 'done' | 'asked' | 'refused'
    readonly code: string | null
    readonly message: string | null
  }[]
}

/** Shows which entries a verb is about, and how many, before a person says that all of them are meant. */
export const bulkPage = async (context: PageContext): Promise<Page> => {
  const { screens, query, nowMs } = context
  const verb = bulkVerbOf(context.params.verb)
  const choice = choiceOf(query)
  const words = choiceWords(choice)
  if (words === '') throw problem('validation-failed', 'Say which entries are meant.', { field: 'batch' })
  const meant = { ...(choice as Readonly<Record<string, string>>), verb }
  const { matched, down, items } = await screens.chosenEntries(meant, shownMax)
  const [text, meaning] = bulkTexts[verb]
  const back = withQuery('/queue', { ...choice })
  return {
    title: `${text}: ${words}`,
    intro: html`${
      matched === 0
        ? html`<p class="empty">No entry fits any more. <a href="${back}">Back to the queue</a></p>`
        : html`<p><strong>${many(matched, 'entry', 'entries')}</strong> ${matched === 1 ? 'fits' : 'fit'}: ${words}. ${meaning}</p>
${verb === 'cancel' ? downBeforeHtml('cancel', down) : downListHtml(down, nowMs)}
${entryTable({ label: 'The entries that are meant', entries: items, nowMs, empty: '', ofOneBatch: false })}
${matched > items.length ? html`<p class="more"><a href="${back}">And ${matched - items.length} more</a></p>` : ''}
${confirmForm(verb, choice, matched)}`
    }`,
    parts: [],
  }
}

const confirmForm = (verb: BulkVerb, choice: EntryChoice, count: number): Html =>
  html`<form class="form" method="post" action="${bulkAddress(verb, choice)}">
<input type="hidden" name="count" value="${count}">
${verb === 'cancel' ? cancelFlags() : ''}
<p class="check"><input type="checkbox" id="sure" name="sure" value="yes" required>
<label for="sure">Yes, ${count === 1 ? 'this one' : `all ${count}`}</label></p>
<div class="buttons"><button type="submit"${verb === 'cancel' ? html` class="danger"` : ''}>${bulkTexts[verb][0]} ${many(count, 'entry', 'entries')}</button>
<a href="${withQuery('/queue', { ...choice })}">Leave it</a></div></form>`

const cancelFlags =
  (): Html => html`<p class="check"><input type="checkbox" id="cleanup" name="cleanup" value="yes">
<label for="cleanup">Destroy the machines that were made on the target</label></p>
<p class="check"><input type="checkbox" id="force" name="force" value="yes">
<label for="force">Also those just before their end, whose whole copy is thrown away</label></p>`

export interface BulkAsked {
  readonly verb: BulkVerb
  readonly choice: EntryChoice
  readonly flags: { readonly force: boolean; readonly cleanup: boolean }
}

/** What became of each; those that were refused with the reason, and a way on where some are left. */
export const bulkResultPage = (asked: BulkAsked, answer: BulkAnswer) => async (): Promise<Page> => {
  const { verb, choice } = asked
  const count = (outcome: string) => answer.items.filter((item) => item.outcome === outcome).length
  const back = withQuery('/queue', { ...choice })
  return {
    title: `${bulkTexts[verb][0]}: ${choiceWords(choice)}`,
    intro: html`<div class="card is-${count('refused') > 0 ? 'waiting' : 'succeeded'}" role="status">
<p><strong>${count('done')} done</strong>${count('asked') > 0 ? `, ${count('asked')} asked: their jobs let go first` : ''}${
      count('refused') > 0 ? `, ${count('refused')} refused` : ''
    }.</p>${refusals(answer)}
${answer.left > 0 ? goOnForm(asked, answer) : ''}</div><p><a href="${back}">To the queue</a>${choice.batch ? html`, <a href="/batches/${choice.batch}">to the batch ${choice.batch}</a>` : ''}</p>`,
    parts: [],
  }
}

/** They were confirmed with the others; those that were refused are not asked again. */
const goOnForm = ({ verb, choice, flags }: BulkAsked, { left, next_cursor: cursor }: BulkAnswer): Html =>
  html`<p>${left} ${left === 1 ? 'is' : 'are'} left: it was more than one request may do.</p>
<form class="verb" method="post" action="${bulkAddress(verb, choice)}">
${Object.entries({ sure: 'yes', count: String(left), cursor: cursor ?? '' }).map(
  ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
)}${Object.entries(flags).map(([name, on]) => (on ? html`<input type="hidden" name="${name}" value="yes">` : ''))}
<button type="submit"${verb === 'cancel' ? html` class="danger"` : ''}>Go on with the ${left} left</button></form>`

const refusals = ({ items }: BulkAnswer): Html => {
  const byReason = new Map<string, string[]>()
  for (const { outcome, message, id } of items)
    if (outcome === 'refused') byReason.set(message ?? '', [...(byReason.get(message ?? '') ?? []), id])
  if (byReason.size === 0) return html``
  return html`<ul class="reasons">${[...byReason].map(
    ([message, ids]) =>
      html`<li>${visible(message)} <span class="dim">${ids.length} times:</span> ${ids
        .slice(0, refusedShown)
        .map(
          (id) =>
            html`<a href="/queue/${id}" aria-label="Entry ${shortId(id)}"><code>${shortId(id)}</code></a> `,
        )}${ids.length > refusedShown ? `and ${ids.length - refusedShown} more` : ''}</li>`,
  )}</ul>`
}

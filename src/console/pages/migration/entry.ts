import { html } from 'hono/html'
import type { EventView } from '../../../api/resources/jobs/event-view.ts'
import type { EntryView } from '../../../api/resources/migration/queue-view.ts'
import { uuidKey } from '../../../api/wire/page.ts'
import { notFound } from '../../../api/wire/problem.ts'
import { many } from '../../../domain/text/sentence.ts'
import { downHtml } from '../../kit/down-shown.ts'
import { bytesProgress, cardLook, phaseWords, stateBadge } from '../../kit/entry-shown.ts'
import { mayOperate, type Page, type PageContext } from '../../kit/page.ts'
import { outside, visible } from '../../kit/shown.ts'
import { ago, definition, type Html, jobLink, table } from '../../kit/view.ts'
import { placeHtml } from './entry-place.ts'
import { entryProgressHtml, placeOfEntry } from './entry-progress.ts'
import { entryVerbForms } from './entry-verb-forms.ts'

interface Wait {
  readonly detail: string
  readonly since: string
  readonly ends_when: string
}

/** What the document leaves open is as the domain records it. */
export type EntryDetailSeen = EntryView & {
  readonly wait: Wait | null
  readonly error: { readonly code?: string; readonly message?: string; readonly remedy?: string } | null
  readonly intent: { readonly verb?: string } | null
}

const eventsShown = 200

/** Asks for an entry by the id in the address. */
const readEntry = async ({ ask, params }: PageContext): Promise<EntryDetailSeen> => {
  const id = params.id ?? ''
  if (!uuidKey.test(id)) throw notFound('entry', id.slice(0, 60))
  return await ask<EntryDetailSeen>(`GET /v1/queue/${id}`)
}

/** One machine in one batch: where it is on its way, why, what it waits for, and what a person can do. */
export const entryPage = async (context: PageContext): Promise<Page> => {
  const entry = await readEntry(context)
  const history = await context.ask<{ items: EventView[] }>(
    `GET /v1/events?subject=entry/${entry.id}&types=entry.*&limit=${eventsShown}`,
  )
  return {
    title: `${visible(entry.name)} in ${entry.batch}`,
    announce: `It is ${entry.state}.${entry.down === null ? '' : ` Its source ${entry.down.shutdown ? 'was asked to shut down and still runs' : 'is off'}.`} ${entry.state === 'finished' ? '' : visible(entry.message)}`,
    wakesOn: (event) => event.subject.id === entry.id || event.subject.id === entry.batch,
    parts: [
      { id: 'state', html: stateHtml(context, entry) },
      { id: 'journey', title: 'Its journey', html: entryProgressHtml(placeOfEntry(entry)) },
      // There also when empty: a page that is open can change a part, not add one.
      { id: 'pending', html: pendingHtml(entry) },
      { id: 'place', title: 'Where it lands, and why there', html: placeHtml(entry) },
      { id: 'timeline', title: 'What happened', html: timelineHtml(history.items, context.nowMs) },
      { id: 'facts', title: 'Facts', html: factsHtml(entry, context.nowMs) },
    ],
  }
}

const stateHtml = (context: PageContext, entry: EntryDetailSeen): Html => {
  const { nowMs } = context
  return html`<div class="card is-${cardLook(entry.state)}">
<p class="state-line">${stateBadge(entry.state)} ${visible(entry.message)}</p>
${downHtml(entry.down, nowMs)}
<p class="dim">Since ${ago(entry.since, nowMs)}${entry.state === 'finished' ? '' : html`; somebody looks again ${ago(entry.next_look_at, nowMs)} at the latest`}.</p>
${entry.away
  .filter(({ message }) => !entry.message.includes(message) && !entry.down?.because.includes(message))
  .map(({ message }) => html`<p class="problem">${visible(message)}</p>`)}
${reasonsHtml(entry)}
${errorHtml(entry)}
${entry.job === null ? '' : jobHtml(entry)}
${entry.wait === null ? '' : html`<p><strong>Why its job does not run:</strong> ${visible(entry.wait.detail)} It ends when ${visible(entry.wait.ends_when)}</p>`}
${entry.stall === null ? '' : html`<p class="problem"><strong>No progress since ${ago(entry.stall.since, nowMs)}:</strong> ${visible(entry.stall.message)}</p>`}
${entry.intent === null ? '' : html`<p>It was asked to <strong>${visible(entry.intent.verb ?? 'end')}</strong>; its job lets go first.</p>`}
${entry.certificate_id === null ? '' : html`<p><a class="action" href="/certificates/${entry.certificate_id}">Its certificate</a></p>`}
${mayOperate(context) ? entryVerbForms(entry) : ''}</div>`
}

/** What ends a wait, and what a person can do about it, where there is something. */
const endHtml = ({
  remedy,
  ends_when: endsWhen,
}: Pick<EntryView['reasons'][number], 'remedy' | 'ends_when'>): Html =>
  html`${
    endsWhen === '' ? '' : html`<p><strong>Ends when:</strong> ${visible(endsWhen)}</p>`
  }${remedy === '' ? '' : html`<p><strong>What to do:</strong> ${visible(remedy)}</p>`}`

/** Of a lone reason the message is said above, so only its end and its remedy are. */
const reasonsHtml = (entry: EntryDetailSeen): Html => {
  const { reasons, state } = entry
  if (reasons.length < 2) return state === 'finished' ? html`` : endHtml(entry)
  return html`<p><strong>All reasons:</strong></p><ul class="reasons">${reasons.map(
    (reason) =>
      html`<li data-key="${reason.code}">${visible(reason.message)} <span class="dim">(${reason.code})</span>${endHtml(reason)}</li>`,
  )}</ul>`
}

/** Only what has not been said above already. */
const errorHtml = ({ error, message: above, remedy: said }: EntryDetailSeen): Html => {
  if (error === null) return html``
  const { message, remedy } = error
  if (message === above && (!remedy || remedy === said)) return html``
  return html`<div class="problem"><p>${visible(message ?? '')}</p>${
    remedy && remedy !== said ? html`<p><strong>What to do:</strong> ${visible(remedy)}</p>` : ''
  }</div>`
}

const jobHtml = ({ name, job, progress }: EntryDetailSeen): Html =>
  job === null
    ? html``
    : html`<p id="progress">${progress === null ? '' : html`${phaseWords(progress.phase)} ${bytesProgress(`Progress of ${visible(name)}`, progress)}, `}by
${job.kind} ${jobLink(job.id)} (${job.state})</p>`

const valueText = (value: unknown): Html => {
  if (value === null || value === undefined) return html`<span class="dim">nothing</span>`
  return html`<code>${visible(typeof value === 'string' ? value : JSON.stringify(value))}</code>`
}

const pendingHtml = ({ pending }: EntryDetailSeen): Html =>
  pending.length === 0
    ? html``
    : html`<h2>What changed since its record was taken</h2>
<p>It waits for a person and is not in the record. Undo it, or change the batch, then resolve.</p>${table({
        label: 'What changed',
        head: ['What', 'Recorded', 'Now'],
        empty: '',
        rows: pending.map(
          ({
            path,
            from,
            to,
          }) => html`<tr data-key="${path}"><th scope="row" class="long">${outside(path)}</th>
<td class="long"><del>${valueText(from)}</del></td><td class="long"><ins>${valueText(to)}</ins></td></tr>`,
        ),
      })}`

const timelineHtml = (events: readonly EventView[], nowMs: number): Html =>
  events.length === 0
    ? html`<p class="empty">Its events were removed after their time.</p>`
    : html`<ol class="timeline">${events.map(
        (event) => html`<li data-key="${event.id}"><span class="when">${ago(event.at, nowMs)}</span>
<span class="what">${event.type.replace(/^entry\./, '')}${event.to === null ? '' : html` <span class="dim">→ ${event.to}</span>`}</span>
<span class="by dim">${visible(event.actor)}</span>${event.reason === null ? '' : html` <span class="why">${visible(event.reason)}</span>`}</li>`,
      )}</ol>`

const factsHtml = (entry: EntryDetailSeen, nowMs: number): Html => html`${definition([
  ['Batch', html`<a href="/batches/${entry.batch}">${entry.batch}</a>`],
  ['Machine', html`<a href="/instances/${entry.instance_id}">${outside(entry.name)}</a>`],
  ['From', html`<a href="/sources/${entry.source}">${entry.source}</a>`],
  [
    'To',
    entry.target === null ? 'nowhere yet' : html`<a href="/targets/${entry.target}">${entry.target}</a>`,
  ],
  [
    'Its machine there',
    entry.target_machine === null ? 'none' : html`<code>${visible(entry.target_machine)}</code>`,
  ],
  ['Stage of its copy', entry.stage],
  ['At the end', entry.running ? 'the target runs' : 'the target is off'],
  ['Window', windowText(entry, nowMs)],
  ['Source asked to go off', entry.source_stopped_at === null ? 'no' : ago(entry.source_stopped_at, nowMs)],
  ['Source seen off', entry.source_off_at === null ? 'no' : ago(entry.source_off_at, nowMs)],
  ['Last copy', ago(entry.synced_at, nowMs)],
  ['Left outside', `${many(entry.effects.open, 'effect')} under way, ${many(entry.effects.debts, 'debt')}`],
])}
<p class="dim">The same for programs: <a href="/v1/queue/${entry.id}">/v1/queue/${entry.id}</a></p>`

const windowText = ({ window }: EntryDetailSeen, nowMs: number): Html => {
  if (window === null) return html`none`
  return html`${window.name}${window.held ? '' : ' (it would get it now)'}${window.start === null ? '' : html`, from ${ago(window.start, nowMs)}`}${
    window.end === null ? '' : html`, until ${ago(window.end, nowMs)}`
  }`
}

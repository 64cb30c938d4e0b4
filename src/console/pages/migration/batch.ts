import { html } from 'hono/html'
import type { BatchView } from '../../../api/resources/migration/batch-view.ts'
import type { PlanSummary } from '../../../api/resources/migration/plans.ts'
import type { EntrySummary } from '../../../api/resources/migration/queue-view.ts'
import { nameKey } from '../../../api/wire/page.ts'
import { notFound } from '../../../api/wire/problem.ts'
import { many } from '../../../domain/text/sentence.ts'
import { downListHtml } from '../../kit/down-shown.ts'
import { bytesProgress, cardLook, stateBadge } from '../../kit/entry-shown.ts'
import { mayOperate, type Page, type PageContext } from '../../kit/page.ts'
import { visible } from '../../kit/shown.ts'
import { ago, definition, type Html, jsonBlock, table } from '../../kit/view.ts'
import { countLinks, entriesOf, finishedBar } from './batch-list.ts'
import { batchVerbForms } from './batch-verb-forms.ts'
import { heldHtml, needyHtml, readHeld } from './batch-waits.ts'
import { entryTable } from './entry-table.ts'
import { isAboutEntries } from './queue.ts'

/** What its settings are is checked when they are written; the document leaves them open. */
export type BatchDetailSeen = BatchView & {
  readonly defaults: {
    readonly placement: {
      readonly target: string
      readonly target_project: string
      readonly storage_pool: string
    }
    readonly migration_network: readonly unknown[]
    readonly force_conflict_resolution: boolean
  }
}

const entriesShown = 50
/** One more is enough to know that there are older ones. */
const plansAsked = 2

/** The name in the address; one that can be none is not there. */
export const nameOfBatch = ({ params }: Pick<PageContext, 'params'>): string => {
  const name = params.name ?? ''
  if (!nameKey.test(name)) throw notFound('batch', name.slice(0, 60))
  return name
}

/** Asks for the batch in the address. */
export const readBatchSeen = async (context: PageContext): Promise<BatchDetailSeen> =>
  await context.ask<BatchDetailSeen>(`GET /v1/batches/${nameOfBatch(context)}`)

/** One batch: how far it is, what waits for a person, its windows and settings, and what can be done. */
export const batchPage = async (context: PageContext): Promise<Page> => {
  const { ask, nowMs } = context
  const batch = await readBatchSeen(context)
  const [all, plans, held] = await Promise.all([
    ask<{ items: EntrySummary[]; next_cursor: string | null }>(
      `GET /v1/queue?batch=${batch.name}&limit=${entriesShown}`,
    ),
    ask<{ items: PlanSummary[] }>(`GET /v1/batches/${batch.name}/plans?limit=${plansAsked}`),
    readHeld(context, batch),
  ])
  return {
    title: batch.name,
    announce: announcement(batch),
    wakesOn: isAboutEntries,
    parts: [
      { id: 'state', html: stateHtml(context, batch, plans.items[0]) },
      // There also when empty: a page that is open can change a part, not add one.
      { id: 'needy', html: needyHtml(context, batch, held) },
      { id: 'held', html: heldHtml(context, batch, held) },
      { id: 'entries', title: 'Machines', html: entriesHtml(batch, all, nowMs) },
      { id: 'windows', title: 'Windows', html: windowsHtml(batch, nowMs) },
      { id: 'plan', title: 'Plan', html: planHtml(context, batch, plans.items) },
      { id: 'facts', title: 'Settings', html: settingsHtml(context, batch) },
    ],
  }
}

/** In quarters: not at every machine. */
const announcement = ({ state, entries, down }: BatchDetailSeen): string => {
  const all = entriesOf(entries)
  const quarters = all === 0 ? 0 : Math.floor(((entries.finished ?? 0) / all) * 4)
  const conflicts = entries.conflict ?? 0
  const off = down.count === 0 ? '' : ` ${many(down.count, 'machine is', 'machines are')} off.`
  return `The batch is ${state}.${off}${quarters === 0 ? '' : ` ${quarters * 25} percent have finished.`}${
    conflicts === 0 ? '' : ` ${many(conflicts, 'conflict')}.`
  }`
}

const stateHtml = (
  context: PageContext,
  batch: BatchDetailSeen,
  plan: PlanSummary | undefined,
): Html => html`<div class="card is-${cardLook(batch.state)}">
<p class="state-line">${stateBadge(batch.state)} ${visible(batch.message) || `${many(batch.matched, 'machine')} matched when it was searched last.`}</p>
${downListHtml(batch.down, context.nowMs)}
${
  entriesOf(batch.entries) === 0
    ? ''
    : html`<p>${finishedBar(batch)} finished: ${countLinks(batch)}</p>
<p>First copies: ${bytesProgress(`Copied of ${batch.name}`, batch.progress)}</p>`
}
<p class="dim">Started ${ago(batch.started_at, context.nowMs)}${batch.finished_at === null ? '' : html`, finished ${ago(batch.finished_at, context.nowMs)}`}.</p>
${mayOperate(context) ? batchVerbForms(batch, plan) : ''}</div>`

const entriesHtml = (
  batch: BatchDetailSeen,
  { items, next_cursor: next }: { items: EntrySummary[]; next_cursor: string | null },
  nowMs: number,
): Html =>
  html`${entryTable({
    label: 'Entries',
    entries: items,
    nowMs,
    // The counts stay when the machines go with their source.
    empty:
      entriesOf(batch.entries) === 0
        ? 'There is none before it starts.'
        : 'What was known of its machines went with their source. Certificates stay.',
    ofOneBatch: true,
  })}${next === null ? '' : html`<p class="more">The first ${items.length} of ${entriesOf(batch.entries)}. <a href="/queue?batch=${batch.name}">All of them</a></p>`}
<p><a class="action" href="/batches/${batch.name}/instances">Which machines belong to it, which do not, and why</a></p>`

const windowsHtml = ({ migration_windows: windows }: BatchDetailSeen, nowMs: number): Html =>
  table({
    label: 'Windows',
    head: ['Name', 'From', 'Until', 'No new ones from', 'Held', 'Room for'],
    empty: 'None: each machine is cut over as soon as its copy is there.',
    rows: windows.map(
      ({
        name,
        start,
        end,
        lockout,
        capacity,
        held,
      }) => html`<tr data-key="${name}"><th scope="row">${name}</th>
<td class="nowrap">${start === null ? 'now' : ago(start, nowMs)}</td><td class="nowrap">${end === null ? 'any time' : ago(end, nowMs)}</td>
<td class="nowrap">${lockout === null ? 'its end' : ago(lockout, nowMs)}</td><td class="count">${held}</td>
<td class="count">${capacity === 0 ? 'any number' : capacity}</td></tr>`,
    ),
  })

const planHtml = (
  context: PageContext,
  batch: BatchDetailSeen,
  [plan, older]: readonly PlanSummary[],
): Html => html`
${
  plan === undefined
    ? html`<p class="empty">Nobody has planned it yet. A plan says what a start would do, and changes nothing.</p>`
    : html`<p>Planned ${ago(plan.planned_at, context.nowMs)} by ${visible(plan.created_by)}${
        plan.approved === null ? '' : html`; approved by ${visible(plan.approved.by)}`
      }. <a class="action" href="/batches/${batch.name}/plans/${plan.id}">See the plan</a>${
        older === undefined ? '' : html`, or <a href="/batches/${batch.name}/plans">an older one</a>`
      }</p>`
}
<p>${
  batch.approval === null
    ? batch.require_approval
      ? html`<strong>It starts only with an approved plan</strong>, and none is.`
      : 'It may start without an approved plan.'
    : html`A plan was approved by ${visible(batch.approval.by)} ${ago(batch.approval.at, context.nowMs)}; any change of the settings voids that.`
}</p>
${
  mayOperate(context)
    ? html`<form method="post" action="/batches/${batch.name}/plan" class="verb"><button type="submit">Plan it now</button></form>`
    : ''
}`

const settingsHtml = (context: PageContext, batch: BatchDetailSeen): Html => {
  const { placement, migration_network: networks, force_conflict_resolution: force } = batch.defaults
  return html`${definition([
    ['Which machines', html`<code>${visible(batch.include_expression)}</code>`],
    [
      'To',
      html`<a href="/targets/${placement.target}">${placement.target}</a>, project ${visible(placement.target_project)}, pool ${visible(placement.storage_pool)}`,
    ],
    ['Conflicts', force ? 'what can be ignored is ignored' : 'a person decides'],
    ...Object.entries(batch.config)
      .filter(([, value]) => typeof value !== 'object' && value !== '')
      .map(([name, value]) => [settingWords(name), visible(String(value))] as const),
    ['Defined', html`${ago(batch.created_at, context.nowMs)} by ${visible(batch.created_by)}`],
  ])}
${jsonBlock('Constraints', batch.constraints)}${jsonBlock('Probes', batch.probes)}${jsonBlock('Networks while it is copied', networks)}
${mayOperate(context) ? html`<p><a class="action" href="/batches/${batch.name}/edit">Change or remove it</a></p>` : ''}
<p class="dim">The same for programs: <a href="/v1/batches/${batch.name}">/v1/batches/${batch.name}</a>,
<a href="/v1/batches/${batch.name}/instances">its machines and why</a></p>`
}

const settingWords = (name: string): string =>
  name.replaceAll('_', ' ').replace(/^./, (first) => first.toUpperCase())

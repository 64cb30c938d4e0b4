import { html } from 'hono/html'
import type { InstanceDetail } from '../../../api/resources/inventory/instance-view.ts'
import { uuidKey } from '../../../api/wire/page.ts'
import { notFound } from '../../../api/wire/problem.ts'
import { isPowerAsked, poweredMachine, powerMeaning } from '../../../domain/inventory/power-meaning.ts'
import type { PowerVerb } from '../../../domain/job/kinds/power-instance.ts'
import { mayOperate, type Page, type PageContext } from '../../kit/page.ts'
import { outside, readinessBadge, visible } from '../../kit/shown.ts'
import { ago, type Html, table } from '../../kit/view.ts'
import { devicesHtml, disksHtml, factsHtml, nicsHtml, snapshotsHtml } from './instance-facts.ts'
import { findingsHtml } from './instance-findings.ts'

/** Asks for an instance by the id in the address. */
export const readInstance = async ({ ask, params }: PageContext): Promise<InstanceDetail> => {
  const id = params.id ?? ''
  if (!uuidKey.test(id)) throw notFound('instance', id.slice(0, 60))
  return await ask<InstanceDetail>(`GET /v1/instances/${id}`)
}

/** One machine of a source: whether it may leave, why not, and all that is known of it. */
export const instancePage = async (context: PageContext): Promise<Page> => {
  const instance = await readInstance(context)
  return {
    title: visible(instance.name || instance.ref),
    announce: announcement(instance),
    wakesOn: (event) => /^(source|instance|waiver|network)\./.test(event.type),
    parts: [
      { id: 'state', html: stateHtml(context, instance) },
      { id: 'findings', title: 'What the rules say', html: findingsHtml(context, instance) },
      // There also when empty: a page that is open can change a part, not add one.
      { id: 'pending', html: pendingHtml(instance, context.nowMs) },
      { id: 'facts', title: 'Facts', html: factsHtml(context, instance) },
      { id: 'disks', title: 'Disks', html: disksHtml(instance) },
      { id: 'nics', title: 'Network cards', html: nicsHtml(instance) },
      { id: 'snapshots', title: 'Snapshots', html: snapshotsHtml(instance, context.nowMs) },
      { id: 'devices', title: 'Other devices', html: devicesHtml(instance) },
    ],
  }
}

const announcement = ({ migrated, readiness }: InstanceDetail): string => {
  if (migrated) return 'It was migrated.'
  return readiness === 'warning' ? 'It has warnings.' : `It is ${readiness}.`
}

const lookOf: Readonly<Record<string, string>> = { ready: 'succeeded', warning: 'waiting', blocked: 'failed' }

const stateHtml = (
  context: PageContext,
  instance: InstanceDetail,
): Html => html`<div class="card is-${instance.migrated ? 'succeeded' : (lookOf[instance.readiness] ?? '')}">
<p class="state-line">${instance.migrated ? html`<span class="badge is-succeeded">migrated</span>` : readinessBadge(instance.readiness)} ${readinessText(instance)}</p>
<p>${powerText(instance)}, at <a href="/sources/${instance.source}">${instance.source}</a> in <code>${visible(instance.location)}</code>.</p>
${notesOf(context, instance).map((note) => html`<p>${note}</p>`)}
${mayOperate(context) && instance.gone_at === null ? powerForms(instance) : ''}</div>`

/** A migration switches its source off, and the record knows nothing of that before it is read again. */
const powerText = ({ power_state, frozen_by, migrated }: InstanceDetail): string => {
  if (frozen_by !== null) return `It was ${power_state} when its record was taken`
  return migrated ? `It was ${power_state} when it was last read` : `It is ${power_state}`
}

const readinessText = ({ readiness, migrated }: InstanceDetail): string => {
  if (migrated) return 'It was migrated: its verified copy has taken its place. Here it stays off.'
  if (readiness === 'blocked') return 'It is not migrated as it is: see below what to do.'
  return readiness === 'warning' ? 'It can be migrated; know what is said below.' : 'It can be migrated.'
}

const notesOf = ({ nowMs }: PageContext, instance: InstanceDetail): Html[] => [
  ...(instance.gone_at === null
    ? []
    : [html`<strong>Its source no longer has it</strong>, since ${ago(instance.gone_at, nowMs)}.`]),
  ...(instance.ignored === null
    ? []
    : [
        html`<strong>It is left out</strong> (${instance.ignored}): ${visible(instance.ignored_detail ?? 'it does not count')}`,
      ]),
  ...(instance.frozen_by === null
    ? []
    : [
        html`The batch ${visible(instance.frozen_by)} runs and holds what is known of it. It is switched on and off by its migration alone until that ends.`,
      ]),
  ...(instance.reading_problem === null
    ? []
    : [
        html`<strong>Its last reading failed:</strong> ${visible(instance.reading_problem.message)} ${visible(instance.reading_problem.remedy)}`,
      ]),
  ...instance.notes.map((note) => html`${visible(note)}`),
]

const powerTexts: Readonly<Record<PowerVerb, string>> = {
  start: 'Start',
  shutdown: 'Shut down',
  restart: 'Restart',
  stop: 'Pull the plug',
}

const offered: Readonly<Record<string, readonly PowerVerb[]>> = {
  on: ['shutdown', 'restart', 'stop'],
  off: ['start'],
  suspended: ['start', 'stop'],
}

/** What a batch holds is not switched, and what was migrated is not started here: a button would only be refused. */
const offeredTo = ({ power_state, migrated, frozen_by }: InstanceDetail): readonly PowerVerb[] =>
  frozen_by === null
    ? (offered[power_state] ?? []).filter((verb) => !migrated || verb === 'stop' || verb === 'shutdown')
    : []

const powerForms = (instance: InstanceDetail): Html =>
  html`${offeredTo(instance).map((verb) =>
    isPowerAsked(verb) ? askedForm(instance, verb) : plainForm(instance, verb),
  )}`

const plainForm = ({ id }: InstanceDetail, verb: PowerVerb): Html =>
  html`<div class="buttons"><form method="post" action="/instances/${id}/power" class="verb">
<input type="hidden" name="verb" value="${verb}"><button type="submit">${powerTexts[verb]}</button></form></div>`

/** Whoever uses the machine is without it afterwards: said first, and said yes to. */
const askedForm = (instance: InstanceDetail, verb: PowerVerb): Html => {
  const name = outside(instance.name || instance.ref)
  return html`<details class="waive" data-key="power-${verb}"><summary>${powerTexts[verb]}<span class="sr"> ${name}</span></summary>
<form method="post" action="/instances/${instance.id}/power"><input type="hidden" name="verb" value="${verb}">
<p>${visible(powerMeaning(poweredMachine(instance), verb))}</p>
<p class="check"><input type="checkbox" id="sure-${verb}" name="sure" value="yes" required>
<label for="sure-${verb}">Yes, ${powerTexts[verb].toLowerCase()}: ${name}</label></p>
<button type="submit" class="danger">${powerTexts[verb]}</button></form></details>`
}

const valueText = (value: unknown): Html => {
  if (value === null || value === undefined) return html`<span class="dim">nothing</span>`
  return html`<code>${visible(typeof value === 'string' ? value : JSON.stringify(value))}</code>`
}

/** What the source says now, beside what the batch goes by. */
const pendingHtml = ({ pending }: InstanceDetail, nowMs: number): Html => {
  if (pending === null) return html``
  const title = html`<h2>What has changed at its source</h2>`
  if (pending.type === 'gone')
    return html`${title}<p>Its source no longer has it, since ${ago(pending.since, nowMs)}. That counts when the batch lets go.</p>`
  return html`${title}<p>Since ${ago(pending.since, nowMs)}. It counts when the batch lets go.</p>${table({
    label: 'What has changed',
    head: ['What', 'Held', 'Now'],
    empty: 'Nothing that counts.',
    rows: pending.changes.map(
      ({ path, from, to }) => html`<tr data-key="${path}"><th scope="row" class="long">${outside(path)}</th>
<td class="long"><del>${valueText(from)}</del></td><td class="long"><ins>${valueText(to)}</ins></td></tr>`,
    ),
  })}`
}

import { html } from 'hono/html'
import type { OperationView } from '../../../api/resources/operation/operation-view.ts'
import { ApiError } from '../../../api/wire/problem.ts'
import { runPolicies } from '../../../domain/operation/kinds/applicability.ts'
import { machinePhases } from '../../../domain/operation/kinds/phase.ts'
import { many } from '../../../domain/text/sentence.ts'
import { withQuery } from '../../kit/ask.ts'
import { type MachineSeen, machineNameLink, phaseBadge } from '../../kit/machine-shown.ts'
import { isAboutOperations, operationLink, progressHtml, whyHtml } from '../../kit/operation-shown.ts'
import { mayOperate, type Page, type PageContext } from '../../kit/page.ts'
import { emptyText, onwards, pager } from '../../kit/pager.ts'
import { outside, visible } from '../../kit/shown.ts'
import { type Html, table } from '../../kit/view.ts'
import { filterBox, filterProblem, orRefused } from '../inventory/filter-box.ts'
import { bulkPath, isWholeChoice, kindSelect, machineChoiceOf } from './machine-choice.ts'

interface MachinePage {
  readonly items: readonly MachineSeen[]
  readonly next_cursor: string | null
  readonly error_count: number
  readonly errors: readonly { readonly id: string; readonly message: string }[]
}

type Found = MachinePage & { readonly active: ReadonlyMap<string, OperationView> }

const pageSize = '50'
const filteredEveryMs = 15_000
const powers = ['on', 'off', 'suspended', 'unknown'] as const

/** The machines of the targets: what each does, what is at it, and what can be asked of many. */
export const machinesPage = async (context: PageContext): Promise<Page> => {
  const { query } = context
  const found = await orRefused(() => read(context))
  const refused = found instanceof ApiError ? found : undefined
  return {
    title: 'Machines',
    intro: html`${filterBox({
      action: '/machines',
      query,
      refused,
      label: 'Filter (CEL)',
      placeholder: 'phase == "stopped" && run_policy == "always-on"',
      keep: ['host', 'project'],
      more: choices(query),
    })}${examples()}`,
    announce: found instanceof ApiError ? 'The filter cannot be used.' : '',
    wakesOn: isAboutOperations,
    ...(query.get('filter') ? { everyMs: filteredEveryMs } : {}),
    parts: [
      { id: 'machines', html: found instanceof ApiError ? filterProblem(found) : listHtml(context, found) },
    ],
  }
}

const questions = ['filter', 'target', 'host', 'project', 'power', 'phase', 'run_policy', 'name', 'cursor']

const read = async ({ ask, query }: PageContext): Promise<Found> => {
  const asked = Object.fromEntries(questions.map((name) => [name, query.get(name)]))
  const page = await ask<MachinePage>(`GET ${withQuery('/v1/machines', { ...asked, limit: pageSize })}`)
  const ids = page.items.flatMap(({ operation }) => (operation === null ? [] : [operation.id]))
  const { items } =
    ids.length === 0
      ? { items: [] }
      : await ask<{ items: OperationView[] }>(`GET ${withQuery('/v1/operations', { ids: ids.join(',') })}`)
  return { ...page, active: new Map(items.map((operation) => [operation.id, operation])) }
}

const listHtml = (context: PageContext, found: Found): Html => {
  const { query } = context
  const chooses = mayOperate(context) && found.items.length > 0
  const list = html`${errorsHtml(found)}${table({
    label: 'Machines',
    head: [
      ...(chooses ? [html`<span class="sr">Choose</span>`] : []),
      ...['Name', 'Target', 'Host', 'It is', 'Run policy', 'At it', 'Queue'],
    ],
    empty: emptyText(query, 'No machine is known yet. Add a target, and have it read.'),
    rows: found.items.map((machine) => machineRow(machine, found.active, chooses)),
  })}`
  return html`${chooses ? html`<form method="get" action="${bulkPath}">${list}${chosenHtml(query, found)}</form>` : list}
${pager('/machines', query, found.next_cursor, onwards)}`
}

const errorsHtml = ({ error_count: count, errors }: Found): Html =>
  count === 0
    ? html``
    : html`<p class="count-line">The filter could not judge ${many(count, 'machine')}: ${visible(errors[0]?.message ?? '')}</p>`

const machineRow = (
  machine: MachineSeen,
  active: Found['active'],
  chooses: boolean,
): Html => html`<tr data-key="${machine.id}">
${
  chooses
    ? html`<td class="choose"><input type="checkbox" name="id" value="${machine.id}" id="c-${machine.id}"><label for="c-${machine.id}" class="sr">Choose ${visible(machine.name)}</label></td>`
    : ''
}<th scope="row" class="long">${machineNameLink(machine)}${marks(machine)}</th>
<td class="nowrap"><a href="/targets/${machine.target}">${machine.target}</a></td><td class="long">${outside(machine.host)}</td>
<td class="nowrap">${phaseBadge(machine.phase)}${powerText(machine)}</td><td class="nowrap">${machine.run_policy}</td>
<td class="long">${atItHtml(machine, active)}</td><td class="count">${
  machine.queued === 0
    ? html`<span class="dim">0</span>`
    : html`<a href="/machines/${machine.id}#queue">${machine.queued}<span class="sr"> wait for ${visible(machine.name)}</span></a>`
}</td></tr>`

/** The power where the phase does not say it. */
const powerText = ({ phase, power }: MachineSeen): Html =>
  phase === 'running' || phase === 'stopped' ? html`` : html` <span class="dim">power ${power}</span>`

const marks = ({ in_migration: migrating, origin, gone_at: gone }: MachineSeen): Html =>
  html`${migrating || origin === 'copy' ? html` <span class="mark">unfinished copy</span>` : ''}${gone === null ? '' : html` <span class="mark">gone</span>`}`

const atItHtml = ({ operation }: MachineSeen, active: Found['active']): Html => {
  if (operation === null) return html`<span class="dim">nothing</span>`
  const full = active.get(operation.id)
  if (full === undefined) return operationLink(operation)
  return html`${operationLink(operation)} ${progressHtml(full)}<br><span class="dim">${whyHtml(full)}</span>`
}

/** Of those that are ticked; or of all that fit, where the questions can be asked of many. */
const chosenHtml = (query: URLSearchParams, { items }: Found): Html => {
  const { asked } = machineChoiceOf(query)
  const whole = isWholeChoice(query) && Object.keys(asked).length > 0
  return html`${Object.entries(asked).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<div class="bulk choose-verb">${kindSelect('bulk-kind')}<button type="submit">of the chosen…</button>${
    whole
      ? html`<button type="submit" name="meant" value="all">of all that fit…</button>`
      : html`<span class="dim">Narrow ${items.length === 1 ? 'it' : 'them'} down by target, power or run policy to ask all that fit.</span>`
  }</div>`
}

const choices = (query: URLSearchParams): Html => {
  const select = (name: string, label: string, values: readonly string[]) =>
    html`<div><label for="f-${name}">${label}</label><select id="f-${name}" name="${name}"><option value="">any</option>
${values.map((value) => html`<option value="${value}"${value === query.get(name) ? html` selected` : ''}>${value}</option>`)}</select></div>`
  return html`<div><label for="f-name">Name has</label><input id="f-name" name="name" value="${query.get('name') ?? ''}" maxlength="255" autocomplete="off"></div>
<div><label for="f-target">Target</label><input id="f-target" name="target" value="${query.get('target') ?? ''}" maxlength="63" autocomplete="off"></div>
${select('power', 'Power', powers)}${select('phase', 'Phase', machinePhases)}${select('run_policy', 'Run policy', runPolicies)}`
}

const written = [
  'phase == "stopped" && run_policy == "always-on"',
  'queued > 0 || operation == "migrate"',
  'origin == "migrated" && memory > 8589934592',
]

const examples = (): Html => html`<details><summary>How to write a filter</summary>
<p>An expression over the fields of a machine; it shows those for which it is true.</p>
<ul>${written.map((text) => html`<li><a href="/machines?filter=${encodeURIComponent(text)}"><code>${text}</code></a></li>`)}</ul></details>`

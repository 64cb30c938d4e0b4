import { html } from 'hono/html'
import type { InstanceSummary } from '../../../api/resources/inventory/instance-view.ts'
import { ApiError } from '../../../api/wire/problem.ts'
import { findRule, rules } from '../../../domain/inventory/rules/catalogue.ts'
import { readinesses } from '../../../domain/inventory/rules/evaluate.ts'
import { bytes } from '../../../domain/text/bytes.ts'
import { many } from '../../../domain/text/sentence.ts'
import { withQuery } from '../../kit/ask.ts'
import type { Page, PageContext } from '../../kit/page.ts'
import { emptyText, pager } from '../../kit/pager.ts'
import { outside, readinessBadge, visible } from '../../kit/shown.ts'
import { type Html, table } from '../../kit/view.ts'
import { filterBox, filterProblem, orRefused } from './filter-box.ts'
import type { AssessedSource } from './site-list.ts'

interface InstancePage {
  readonly items: readonly InstanceSummary[]
  readonly next_cursor: string | null
  readonly error_count: number
  readonly errors: readonly { readonly id: string; readonly message: string }[]
}

interface Count {
  readonly matched: number
  readonly scanned: number
  readonly next_cursor: string | null
}

/** Looking through a large fleet with a filter costs; what a person reads need not be newer than this. */
const filteredEveryMs = 15_000
const plainEveryMs = 5_000

const shows: readonly (readonly [value: string, text: string])[] = [
  ['', 'that count'],
  ['migrated', 'migrated'],
  ['ignored', 'left out'],
  ['gone', 'gone'],
]

/** What the address asks for, as the API is asked. */
const choiceOf = (query: URLSearchParams) => ({
  source: query.get('source'),
  readiness: query.get('readiness'),
  filter: query.get('filter'),
  ignored: query.get('show') === 'ignored' ? 'true' : undefined,
  gone: query.get('show') === 'gone' ? 'true' : undefined,
  migrated: query.get('show') === 'migrated' ? 'true' : undefined,
})

/** The machines of the sources: how ready each is, and what a filter leaves of them. */
export const instancesPage = async (context: PageContext): Promise<Page> => {
  const { query } = context
  const found = await orRefused(() => read(context))
  const refused = found instanceof ApiError ? found : undefined
  return {
    title: 'Instances',
    intro: html`${filterBox({
      action: '/instances',
      query,
      refused,
      label: 'Filter (CEL)',
      placeholder: 'os_type == "windows" && memory > 8589934592',
      keep: ['source'],
      more: choices(query),
    })}${examples()}`,
    announce: found instanceof ApiError ? 'The filter cannot be used.' : countText(found.count),
    wakesOn: (event) => /^(source|instance|waiver)\./.test(event.type),
    everyMs: query.has('filter') ? filteredEveryMs : plainEveryMs,
    parts: [
      { id: 'instances', html: found instanceof ApiError ? filterProblem(found) : listHtml(query, found) },
    ],
  }
}

const read = async ({ ask, query }: PageContext): Promise<InstancePage & { count: Count }> => {
  const choice = choiceOf(query)
  const [page, count] = await Promise.all([
    ask<InstancePage>(`GET ${withQuery('/v1/instances', { ...choice, cursor: query.get('cursor') })}`),
    readCount(ask, choice),
  ])
  return { ...page, count }
}

/** How many fit. Without a filter the database counts; with one every machine must be looked at. */
const readCount = async (ask: PageContext['ask'], choice: ReturnType<typeof choiceOf>): Promise<Count> => {
  if (choice.filter || choice.ignored || choice.gone || choice.migrated)
    return await ask<Count>(`GET ${withQuery('/v1/instances/:count', choice)}`)
  const { sources } = await ask<{ sources: AssessedSource[] }>(
    `GET ${withQuery('/v1/assessment', { source: choice.source })}`,
  )
  const of = (choice.readiness || 'instances') as 'instances'
  return {
    matched: sources.reduce((sum, counts) => sum + counts[of], 0),
    scanned: 0,
    next_cursor: null,
  }
}

const countText = ({ matched, scanned, next_cursor: more }: Count): string =>
  more === null
    ? `${many(matched, 'machine')} ${matched === 1 ? 'fits' : 'fit'}.`
    : `${many(matched, 'machine')} of the first ${scanned} fit; there are more than could be looked at in time.`

const listHtml = (query: URLSearchParams, found: InstancePage & { count: Count }): Html => html`
<p class="count-line"><strong>${countText(found.count)}</strong>${
  found.error_count === 0
    ? ''
    : html` The filter could not judge ${many(found.error_count, 'other')}: ${visible(found.errors[0]?.message ?? '')}`
}</p>
${table({
  label: 'Instances',
  head: ['Name', 'Readiness', 'Why', 'Power', 'System', 'CPUs', 'Memory', 'Disks', 'Source'],
  empty: emptyText(
    query,
    'No machine is there to be migrated. Add a source, or look at those that were migrated or left out.',
  ),
  rows: found.items.map(instanceRow),
})}${pager('/instances', query, found.next_cursor)}`

const instanceRow = (instance: InstanceSummary): Html => html`<tr data-key="${instance.id}">
<th scope="row" class="long"><a href="/instances/${instance.id}">${outside(instance.name || instance.ref)}</a>${marks(instance)}</th>
<td>${readinessBadge(instance.readiness)}</td><td class="long">${whyText(instance)}</td>
<td>${instance.power_state}</td><td class="long">${systemText(instance)}</td>
<td class="count">${instance.cpus}</td><td class="nowrap">${bytes(instance.memory)}</td>
<td class="nowrap">${instance.disks}: ${bytes(instance.disk_bytes)}</td>
<td class="nowrap"><a href="/sources/${instance.source}">${instance.source}</a></td></tr>`

/** What a person should know of a machine before opening it. */
const marks = ({
  ignored,
  frozen_by: frozen,
  has_overrides: changed,
  problem,
  gone_at: gone,
  migrated,
}: InstanceSummary): Html =>
  html`${[
    ...(gone === null ? [] : ['gone']),
    ...(migrated ? ['migrated'] : []),
    ...(ignored === null ? [] : [`left out: ${ignored}`]),
    ...(frozen === null ? [] : ['held by a batch']),
    ...(changed ? ['changed by hand'] : []),
    ...(problem === null ? [] : ['could not be read']),
  ].map((mark) => html` <span class="mark">${mark}</span>`)}`

const gravity = (rule: string): number => rules.findIndex(({ id }) => id === rule)

/** The gravest rule that it breaks, and how many more. */
const whyText = ({ findings }: InstanceSummary): Html => {
  const [first] = findings.toSorted((a, b) => gravity(a) - gravity(b))
  if (first === undefined) return html``
  return html`${findRule(first)?.title ?? first}${findings.length > 1 ? html` <span class="dim">and ${findings.length - 1} more</span>` : ''}`
}

export const systemText = (instance: {
  os_type: string
  distribution: string
  distribution_version: string
}): string =>
  visible(
    [
      instance.distribution === 'other' ? instance.os_type : instance.distribution,
      instance.distribution_version,
    ]
      .filter(Boolean)
      .join(' '),
  )

const choices = (query: URLSearchParams): Html => {
  const option = (value: string, text: string, chosen: string | null) =>
    html`<option value="${value}"${value === (chosen ?? '') ? html` selected` : ''}>${text}</option>`
  return html`<div><label for="f-readiness">Readiness</label><select id="f-readiness" name="readiness">
${option('', 'any', query.get('readiness'))}${readinesses.map((value) => option(value, value, query.get('readiness')))}</select></div>
<div><label for="f-show">Machines</label><select id="f-show" name="show">
${shows.map(([value, text]) => option(value, text, query.get('show')))}</select></div>`
}

const written = [
  'readiness == "blocked" && power_state == "on"',
  'has_tag("env", "prod") || path_dir(location) == "/Paris/vm/shop"',
  'disks.exists(d, d.capacity > 2199023255552)',
  '"no-ipv4" in findings',
]

const examples = (): Html => html`<details><summary>How to write a filter</summary>
<p>An expression over the fields of a machine; it shows those for which it is true.</p>
<ul>${written.map((text) => html`<li><a href="/instances?filter=${encodeURIComponent(text)}"><code>${text}</code></a></li>`)}</ul></details>`

import { html } from 'hono/html'
import type { viewRules } from '../../../api/resources/inventory/rules.ts'
import { ApiError } from '../../../api/wire/problem.ts'
import { many } from '../../../domain/text/sentence.ts'
import { withQuery } from '../../kit/ask.ts'
import type { Page, PageContext } from '../../kit/page.ts'
import { ago, type Html, table } from '../../kit/view.ts'
import { filterBox, filterProblem, orRefused } from './filter-box.ts'
import type { AssessedSource } from './site-list.ts'

interface AssessmentSeen {
  readonly totals: Omit<AssessedSource, 'source'>
  readonly sources: readonly AssessedSource[]
  readonly rules: ReturnType<typeof viewRules>
  readonly synced: { readonly oldest: string | null; readonly newest: string | null; readonly never: number }
  readonly error_count: number
  readonly next_cursor: string | null
}

/** How ready the fleet is: in all, by source and by rule. */
export const assessmentPage = async ({ ask, query, nowMs }: PageContext): Promise<Page> => {
  const asked = { source: query.get('source'), filter: query.get('filter') }
  const seen = await orRefused(() => ask<AssessmentSeen>(`GET ${withQuery('/v1/assessment', asked)}`))
  const refused = seen instanceof ApiError ? seen : undefined
  return {
    title: 'Assessment',
    intro: html`${filterBox({
      action: '/assessment',
      query,
      refused,
      label: 'Only machines for which this is true (CEL)',
      placeholder: 'source == "paris"',
      keep: ['source'],
    })}<p><a class="action" href="${withQuery('/v1/assessment', { ...asked, format: 'csv' })}">Everything as CSV</a></p>`,
    wakesOn: (event) => /^(source|instance|waiver)\./.test(event.type),
    everyMs: 15_000,
    parts:
      seen instanceof ApiError
        ? [{ id: 'totals', html: filterProblem(seen) }]
        : [
            { id: 'totals', html: totalsHtml(seen, asked, nowMs) },
            { id: 'rules', title: 'By rule', html: rulesHtml(seen, asked) },
            { id: 'sources', title: 'By source', html: sourcesHtml(seen) },
          ],
  }
}

interface Asked {
  readonly source: string | null
  readonly filter: string | null
}

const totalsHtml = (
  { totals, synced, next_cursor: more }: AssessmentSeen,
  asked: Asked,
  nowMs: number,
): Html => {
  const numbers = [
    ['Machines', totals.instances, '', 'all'],
    ['Ready', totals.ready, 'ready', 'fit'],
    ['With warnings', totals.warning, 'warning', 'wary'],
    ['Blocked', totals.blocked, 'blocked', 'blocked'],
  ] as const
  return html`<ul class="numbers four">${numbers.map(
    ([
      name,
      value,
      readiness,
      look,
    ]) => html`<li data-key="${name}"><a class="is-${look}${value === 0 ? ' is-none' : ''}"
 href="${withQuery('/instances', { ...asked, readiness })}"><span class="number">${value}</span> <span class="name">${name}</span></a></li>`,
  )}</ul>
${more === null ? '' : html`<p><strong>These are not all:</strong> the fleet is too large to be looked through in the time of one request.</p>`}
${totals.migrated === 0 ? '' : html`<p>${many(totals.migrated, 'machine')} beside these ${totals.migrated === 1 ? 'was' : 'were'} <a href="/instances?show=migrated">migrated</a>.</p>`}
<p class="dim">From what was read ${ago(synced.oldest, nowMs)} at the earliest${synced.never > 0 ? `; ${many(synced.never, 'source was', 'sources were')} never read` : ''}.</p>`
}

const severityLooks = { critical: 'blocked', warning: 'wary', info: 'unknown' } as const

const rulesHtml = ({ rules }: AssessmentSeen, asked: Asked): Html => {
  const broken = rules.filter((rule) => rule.broken + rule.waived > 0)
  return table({
    label: 'Rules that machines break',
    head: ['Severity', 'Machines', 'Waived', 'Rule', 'What to do'],
    empty: 'No machine breaks a rule.',
    rows: broken.map(
      (
        rule,
      ) => html`<tr data-key="${rule.id}"><td><span class="badge is-${severityLooks[rule.severity]}">${rule.severity}</span></td>
<td class="count"><a href="${withQuery('/instances', { source: asked.source, filter: narrowed(asked.filter, rule.id) })}">${rule.broken}<span class="sr"> machines break ${rule.id}</span></a></td>
<td class="count">${rule.waived}</td><th scope="row" class="long">${rule.title}<br><code>${rule.id}</code></th>
<td class="long">${rule.remedy}</td></tr>`,
    ),
  })
}

const narrowed = (filter: string | null, rule: string): string =>
  filter ? `(${filter}) && "${rule}" in findings` : `"${rule}" in findings`

const sourcesHtml = ({ sources }: AssessmentSeen): Html =>
  table({
    label: 'Sources',
    head: ['Source', 'Machines', 'Ready', 'With warnings', 'Blocked'],
    empty: 'Nothing was read yet.',
    rows: sources.map(
      ({
        source,
        ...counts
      }) => html`<tr data-key="${source}"><th scope="row"><a href="/sources/${source}">${source}</a></th>
<td class="count">${counts.instances}</td><td class="count">${counts.ready}</td><td class="count">${counts.warning}</td><td class="count">${counts.blocked}</td></tr>`,
    ),
  })

import { html } from 'hono/html'
import type { LaneBatch } from '../../../api/screens/lane-batches.ts'
import type { Overview } from '../../../api/screens/overview.ts'
import { jobKinds } from '../../../domain/job/kinds/registry.ts'
import { downListHtml } from '../../kit/down-shown.ts'
import { mayOperate, type Page, type PageContext } from '../../kit/page.ts'
import { ago, button, duration, type Html, jobLink, jobProgress, stackedBar, table } from '../../kit/view.ts'
import { type Warning, warningsOf } from '../../kit/warnings.ts'
import { inventorySummary } from './inventory-summary.ts'
import { batchesSummary, readBatchesSeen } from './overview-batches.ts'
import { operationsSummary } from './overview-operations.ts'

/** Everything that a person wants to know first, on one page. */
export const overviewPage = async (context: PageContext): Promise<Page> => {
  const { nowMs, screens } = context
  const [seen, migrations] = await Promise.all([screens.overview(), readBatchesSeen(context)])
  const { counts, waits, running, down, operations, lanes, ready, inventory } = seen
  const warnings = warningsOf({ ...seen, debts: seen.debts.debts, ...inventory })
  const alarms = warnings.filter(({ alarm }) => alarm)
  const others = warnings.filter(({ alarm }) => alarm !== true)
  return {
    title: 'Overview',
    announce: announcement(lanes, warnings),
    parts: [
      // Before anything else; both there also when empty, so that a page that is open can show them.
      { id: 'alarms', html: alarms.length === 0 ? html`` : warningsHtml(context, alarms) },
      { id: 'down', html: downListHtml(down, nowMs) },
      {
        id: 'warnings',
        html:
          others.length === 0 && (down.count > 0 || alarms.length > 0)
            ? html``
            : warningsHtml(context, others),
      },
      { id: 'numbers', html: numbersHtml(seen) },
      { id: 'inventory', title: 'Inventory', html: inventorySummary(inventory) },
      { id: 'migrations', title: 'Batches', html: batchesSummary(migrations, nowMs) },
      { id: 'operations', title: 'Operations', html: operationsSummary(operations, nowMs) },
      { id: 'batches', title: 'Jobs of batches', html: lanesHtml(context, lanes) },
      { id: 'running', title: 'Running now', html: runningHtml(running, counts, nowMs) },
      { id: 'waiting', title: 'What waits, and why', html: waitingHtml({ waits, ready, counts, nowMs }) },
      { id: 'kinds', title: 'Jobs by kind', html: kindsHtml(counts) },
    ],
  }
}

/** In quarters, so that a screen reader hears of a batch four times and not four times a second. */
const announcement = (batches: readonly LaneBatch[], warnings: readonly Warning[]): string =>
  [
    ...warnings.map((warning) => warning.text),
    ...batches
      .filter((batch) => !batch.done || batch.counts.failed)
      .map((batch) =>
        batch.done
          ? `${batch.lane} is done, ${batch.counts.failed} failed.`
          : `${batch.lane}: ${Math.floor((batch.ended / batch.jobs) * 4) * 25} percent.`,
      ),
  ].join(' ')

const warningsHtml = (context: PageContext, warnings: readonly Warning[]): Html =>
  warnings.length === 0
    ? html`<p class="all-well">Nothing needs you.</p>`
    : html`<h2 class="sr">Warnings</h2><ul class="warnings">${warnings.map(
        (
          warning,
        ) => html`<li data-key="${warning.id}"${warning.alarm ? html` class="is-alarm"` : ''}><span>${warning.text}</span>
${warning.href === undefined ? '' : html`<a href="${warning.href}">${warning.linkText}</a>`}
${warning.pause !== undefined && mayOperate(context) ? resumeForm(warning.pause) : ''}</li>`,
      )}</ul>`

const resumeForm = (pause: NonNullable<Warning['pause']>): Html => html`<form method="post" class="verb"
 action="/pauses/${pause.scope}/resume"><input type="hidden" name="name" value="${pause.name}">
<button type="submit">Resume<span class="sr"> ${pause.scope} ${pause.name}</span></button></form>`

const sumOf = (counts: Overview['counts'], state: string): number =>
  counts.filter((count) => count.state === state).reduce((sum, count) => sum + count.jobs, 0)

const numbersHtml = (facts: Overview): Html => {
  const workers = facts.processes.filter((p) => p.role === 'worker' && p.silentMs <= facts.leaseMs)
  const slots = workers.reduce((sum, w) => sum + Object.values(w.slots).reduce((a, b) => a + b, 0), 0)
  const numbers: readonly [string, number | string, string, string][] = [
    ['Running', sumOf(facts.counts, 'running'), '/jobs?state=running', 'running'],
    ['Ready', sumOf(facts.counts, 'ready'), '/jobs?state=ready', 'ready'],
    ['Waiting', sumOf(facts.counts, 'waiting'), '/jobs?state=waiting', 'waiting'],
    ['Failed', sumOf(facts.counts, 'failed'), '/failed', 'failed'],
    ['Debts', facts.debts.debts, '/effects?state=debt', 'debt'],
    [`Workers, ${slots} slots`, workers.length, '/workers', 'workers'],
  ]
  return html`<ul class="numbers">${numbers.map(
    ([name, value, href, state]) =>
      html`<li data-key="${state}"><a href="${href}" class="is-${state}${value === 0 ? ' is-none' : ''}"><span class="number">${value}</span>
<span class="name">${name}</span></a></li>`,
  )}</ul>`
}

const lanesHtml = (context: PageContext, batches: readonly LaneBatch[]): Html => html`${
  batches.length === 0
    ? html`<p class="empty">No jobs of a batch. A self-test sends jobs that touch nothing through the whole fleet.</p>`
    : html`<ul class="batches">${batches.map((batch) => batchHtml(batch, context.nowMs))}</ul>`
}
${mayOperate(context) ? button({ action: '/self-tests', text: 'Run a self-test' }) : ''}`

const batchHtml = (batch: LaneBatch, nowMs: number): Html => {
  const percent = batch.jobs === 0 ? 100 : Math.floor((batch.ended / batch.jobs) * 100)
  return html`<li data-key="${batch.lane}"${batch.done ? html` class="done"` : ''}>
<p class="batch-head"><a href="/jobs?lane=${encodeURIComponent(batch.lane)}">${batch.lane}</a>
<span class="percent">${batch.done ? 'done' : `${percent} %`}</span></p>
${stackedBar(batch.lane, batch.counts, batch.jobs)}
<p class="batch-foot"><span><strong>${batch.ended}</strong> of ${batch.jobs} ended</span>
${legend(batch.counts)}<span class="dim">${paceOf(batch, nowMs)}</span></p></li>`
}

const legend = (counts: Readonly<Record<string, number>>): Html =>
  html`${['succeeded', 'failed', 'canceled', 'running', 'waiting', 'ready']
    .filter((state) => (counts[state] ?? 0) > 0)
    .map((state) => html`<span class="key is-${state}">${counts[state]} ${state}</span>`)}`

const paceOf = (batch: LaneBatch, nowMs: number): Html => {
  if (batch.done)
    return html`in ${duration((batch.lastAt?.getTime() ?? 0) - batch.firstAt.getTime())}, ended ${ago(batch.lastAt, nowMs)}`
  const eta = batch.etaMs === undefined ? '' : `, about ${duration(batch.etaMs)} left`
  return html`${batch.perSecond.toFixed(batch.perSecond < 10 ? 1 : 0)} jobs/s${eta}`
}

const runningHtml = (jobs: Overview['running'], counts: Overview['counts'], nowMs: number): Html => {
  const more = sumOf(counts, 'running') - jobs.length
  return html`${table({
    label: 'Running jobs',
    head: ['Job', 'Kind', 'About', 'Since', 'Progress'],
    empty: 'Nothing runs.',
    rows: jobs.map(
      (job) => html`<tr data-key="${job.id}"><td>${jobLink(job.id)}</td><td>${job.kind}</td>
<td class="long">${job.subject.type}/${job.subject.id}</td><td class="nowrap">${ago(job.started_at, nowMs)}</td>
<td>${jobProgress(job.progress)}</td></tr>`,
    ),
  })}
${more > 0 ? html`<p><a href="/jobs?state=running">And ${more} more</a></p>` : ''}`
}

const waitingHtml = (facts: {
  waits: Overview['waits']
  ready: Overview['ready']
  counts: Overview['counts']
  nowMs: number
}): Html => {
  const readyOf = (kind: string) =>
    sumOf(
      facts.counts.filter((count) => count.kind === kind),
      'ready',
    )
  const waits = facts.waits.map(
    (wait) => html`<tr data-key="wait-${wait.kind}-${wait.reason}"><td class="nowrap">${wait.kind}</td>
<td class="nowrap">${wait.jobs} waiting</td><td>${wait.reason}</td><td class="nowrap">${ago(wait.since, facts.nowMs)}</td>
<td>its cause goes, ${ago(wait.until, facts.nowMs)} at the latest</td><td>${jobLink(wait.example)}</td></tr>`,
  )
  const ready = facts.ready.map(
    ({ kind, id, wait }) => html`<tr data-key="ready-${kind}"><td class="nowrap">${kind}</td>
<td class="nowrap">${readyOf(kind)} ready</td><td>${wait.detail}</td><td class="nowrap">${ago(wait.since, facts.nowMs)}</td>
<td>${wait.ends_when}</td><td>${jobLink(id)}</td></tr>`,
  )
  return table({
    label: 'What waits',
    head: ['Kind', 'Jobs', 'Why', 'Since', 'Ends when', 'For example'],
    empty: 'Nothing waits.',
    rows: [...waits, ...ready],
  })
}

const shownStates = ['ready', 'running', 'waiting', 'failed'] as const

const kindsHtml = (counts: Overview['counts']): Html =>
  table({
    label: 'Jobs by kind and state',
    head: ['Kind', ...shownStates],
    empty: 'There are no kinds.',
    rows: jobKinds.map(({ kind, title }) => {
      const cells = shownStates.map((state) => {
        const jobs = counts.find((count) => count.kind === kind && count.state === state)?.jobs ?? 0
        const path = state === 'failed' ? `/failed?kind=${kind}` : `/jobs?kind=${kind}&state=${state}`
        return html`<td class="count">${jobs === 0 ? html`<span class="dim">0</span>` : html`<a href="${path}">${jobs}</a>`}</td>`
      })
      return html`<tr data-key="${kind}"><th scope="row"><a href="/jobs?kind=${kind}" title="${title}">${kind}</a></th>${cells}</tr>`
    }),
  })

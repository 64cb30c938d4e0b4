import { html } from 'hono/html'
import type { OperationView } from '../../../api/resources/operation/operation-view.ts'
import { runPolicies } from '../../../domain/operation/kinds/applicability.ts'
import { bytes } from '../../../domain/text/bytes.ts'
import { emptyForm, selectField } from '../../kit/form.ts'
import { type MachineSeen, originText, phaseBadge, phaseLook, policyTexts } from '../../kit/machine-shown.ts'
import { operationLink, progressHtml, slotsHtml, whyHtml } from '../../kit/operation-shown.ts'
import { mayOperate, type Page, type PageContext } from '../../kit/page.ts'
import { onwards, pager } from '../../kit/pager.ts'
import { outside, visible } from '../../kit/shown.ts'
import { ago, definition, type Html } from '../../kit/view.ts'
import { machineVerbForms } from './machine-verb-forms.ts'
import { cancelHtml, endedOperations, openOperations } from './operation-table.ts'

interface Operations {
  readonly items: readonly OperationView[]
  readonly next_cursor: string | null
}

const openStates = 'queued,pending,running'
const endedStates = 'completed,failed,canceled,superseded'
const endedMost = 25

/** One machine of a target: what it does, what is at it and behind that, what was, and what can be asked of it. */
export const machinePage = async (context: PageContext): Promise<Page> => {
  const { ask, params, query, nowMs, path } = context
  const machine = await ask<MachineSeen>(`GET /v1/machines/${encodeURIComponent(params.id ?? '')}`)
  const cursor = query.get('cursor')
  const [open, ended] = await Promise.all([
    ask<Operations>(`GET /v1/operations?machine=${machine.id}&state=${openStates}&limit=50`),
    ask<Operations>(
      `GET /v1/operations?machine=${machine.id}&state=${endedStates}&limit=${endedMost}${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
    ),
  ])
  const active = open.items.find(({ state }) => state !== 'queued')
  const full = active && (await ask<OperationView>(`GET /v1/operations/${active.id}`))
  const known = new Set([machine.id, ...open.items.map(({ id }) => id)])
  const back = mayOperate(context) ? path : undefined
  const shown = { nowMs, ofOneMachine: true, back } as const
  return {
    title: visible(machine.name || machine.ref),
    announce: `It is ${machine.phase}.${full === undefined ? '' : ` ${full.kind} is ${full.state}.`}`,
    wakesOn: (event) =>
      known.has(event.subject.id) ||
      event.detail?.machine === machine.id ||
      // Others of the same target are of no matter here, and there may be thousands.
      (event.subject.type === 'target' && event.subject.id === machine.target),
    parts: [
      { id: 'state', html: stateHtml(context, machine, full) },
      { id: 'queue', title: 'Queue', html: queueHtml(open.items, shown) },
      {
        id: 'history',
        title: 'What was asked of it',
        html: html`${endedOperations({
          ...shown,
          operations: ended.items,
          label: 'Ended operations',
          empty: 'Nothing has ended yet.',
        })}${pager(path, query, ended.next_cursor, onwards)}`,
      },
      { id: 'policy', title: 'Run policy', html: policyHtml(context, machine) },
      { id: 'facts', title: 'Facts', html: factsHtml(machine, nowMs) },
    ],
  }
}

const stateHtml = (context: PageContext, machine: MachineSeen, active: OperationView | undefined): Html => {
  const { nowMs } = context
  return html`<div class="card is-${phaseLook(machine.phase)}">
<p class="state-line">${phaseBadge(machine.phase)} on <a href="/targets/${machine.target}">${machine.target}</a>${
    machine.host === ''
      ? ''
      : html`, host <a href="/machines?target=${machine.target}&amp;host=${encodeURIComponent(machine.host)}">${outside(machine.host)}</a>`
  }</p>
${machine.gone_at === null ? '' : html`<p><strong>Its target no longer has it</strong>, since ${ago(machine.gone_at, nowMs)}.</p>`}
${machine.in_migration && machine.entry_id !== null ? html`<p><strong>It belongs to a migration that is not over:</strong> <a href="/queue/${machine.entry_id}">its entry in ${machine.batch}</a>. Operations are refused until that ends.</p>` : ''}
${active === undefined ? '' : activeHtml(active, nowMs, mayOperate(context) ? context.path : undefined)}
${mayOperate(context) && machine.gone_at === null ? machineVerbForms(machine) : ''}</div>`
}

const activeHtml = (active: OperationView, nowMs: number, back: string | undefined): Html =>
  html`<p>At it: <strong>${operationLink(active)}</strong>, ${active.state}, ${ago(active.created_at, nowMs)} by ${visible(active.created_by)}. ${progressHtml(active)}</p>
<p>${whyHtml(active)}</p>${active.waits?.slots ? slotsHtml(active.waits.slots) : ''}${back === undefined ? '' : cancelHtml(active, back)}`

type Shown = Pick<Parameters<typeof openOperations>[0], 'nowMs' | 'ofOneMachine' | 'back'>

const queueHtml = (open: readonly OperationView[], shown: Shown): Html =>
  openOperations({
    ...shown,
    // As their turns come.
    operations: open
      .filter(({ state }) => state === 'queued')
      .toSorted((a, b) => (a.position ?? 0) - (b.position ?? 0)),
    label: 'Queued operations',
    empty: 'Nothing waits for its turn.',
  })

const policyHtml = (context: PageContext, machine: MachineSeen): Html => {
  if (!mayOperate(context) || machine.gone_at !== null)
    return html`<p>${policyTexts[machine.run_policy]}.</p>`
  return html`<form method="post" action="/machines/${machine.id}" class="form">
<input type="hidden" name="version" value="${machine.version}">
${selectField(emptyForm, {
  name: 'run_policy',
  label: 'Who decides whether it runs',
  value: machine.run_policy,
  hint: 'An operation that is under way goes on.',
  choices: runPolicies.map((policy) => [policy, policyTexts[policy]] as const),
})}<button type="submit">Save</button></form>`
}

const factsHtml = (machine: MachineSeen, nowMs: number): Html => html`${definition([
  ['Target', html`<a href="/targets/${machine.target}">${machine.target}</a>`],
  ['Host', machine.host === '' ? 'none' : outside(machine.host)],
  ['Project', machine.project === '' ? 'none' : outside(machine.project)],
  ['Its id there', html`<code>${visible(machine.ref)}</code>`],
  ['UUID', html`<code>${visible(machine.uuid)}</code>`],
  ['Power', machine.power],
  ...(machine.hibernated ? ([['Saved state', 'there is one to wake it from']] as const) : []),
  ['CPUs', machine.cpus],
  ['Memory', bytes(machine.memory)],
  ['From', originText(machine)],
  ...(machine.entry_id === null
    ? []
    : ([['Its entry', html`<a href="/queue/${machine.entry_id}">in ${machine.batch}</a>`]] as const)),
  ...(machine.instance_id === null
    ? []
    : ([['The instance it was', html`<a href="/instances/${machine.instance_id}">see it</a>`]] as const)),
  ...(machine.stopped_at === null ? [] : ([['Off by a person', ago(machine.stopped_at, nowMs)]] as const)),
  ['Seen', ago(machine.seen_at, nowMs)],
  ['Known', ago(machine.created_at, nowMs)],
])}
<p class="dim">The same for programs: <a href="/v1/machines/${machine.id}">/v1/machines/${machine.id}</a></p>`

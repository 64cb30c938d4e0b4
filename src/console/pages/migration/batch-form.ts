import { html } from 'hono/html'
import { batchConfig } from '../../../domain/migration/batch/batch-settings.ts'
import { many } from '../../../domain/text/sentence.ts'
import { forgetsFinished } from '../../kit/confirm-finished.ts'
import { emptyForm, type FormState, inputField, problemBox, selectField, textField } from '../../kit/form.ts'
import type { Page, PageContext } from '../../kit/page.ts'
import type { Html } from '../../kit/view.ts'
import { type BatchDetailSeen, readBatchSeen } from './batch.ts'
import { jsonFields, settledState } from './batch-form-fields.ts'
import { entriesOf } from './batch-list.ts'

const scalarHints: Readonly<Record<string, string>> = {
  post_migration_retries: 'How often a target that does not start is started again.',
  background_sync_interval: 'How often a running source is copied again, for example 10m.',
  final_background_sync_limit: 'How old the last copy may be when the window opens.',
  guest_shutdown_limit: 'How long a guest may take to shut down before its plug is pulled.',
  boot_limit: 'How long a started target may take until it answers.',
  sync_limit: 'First copies at once; 0: no limit. It never holds back a machine whose window is open.',
}

const allowances: Readonly<Record<string, string>> = {
  allow_unknown_os: 'Also machines whose system is not known',
  allow_no_ipv4: 'Also machines without a known IPv4 address',
  allow_no_background_import: 'Also machines that can only be copied while they are off',
}

type Stored = Pick<BatchDetailSeen, 'defaults' | 'config'> & Partial<BatchDetailSeen>

const nothing: Stored = {
  defaults: {
    placement: { target: '', target_project: 'default', storage_pool: 'default' },
    migration_network: [],
    force_conflict_resolution: false,
  },
  config: batchConfig.parse({}),
}

/** The form for a new batch; with what was wrong when it was sent before. */
export const newBatchPage =
  (state: FormState = emptyForm) =>
  async (context: PageContext): Promise<Page> => ({
    title: 'Define a batch',
    intro: html`${problemBox(state)}<p>Nothing is migrated before it is started.</p>
<form class="form" method="post" action="/add-batch">${await fieldsOf(context, state, nothing)}
<div class="buttons"><button type="submit">Define the batch</button> <a href="/batches">Leave it</a></div></form>`,
    parts: [],
  })

/** The form for a batch that is there: what it no longer may change, the API says at the field, and why. */
export const editBatchPage =
  (state: FormState = emptyForm) =>
  async (context: PageContext): Promise<Page> => {
    const batch = await readBatchSeen(context)
    const base = `/batches/${batch.name}`
    return {
      title: `Change ${batch.name}`,
      intro: html`${problemBox(state)}<form class="form" method="post" action="${base}/edit">
<input type="hidden" name="version" value="${state.values.version ?? String(batch.version)}">
${await fieldsOf(context, state, batch)}
<div class="buttons"><button type="submit">Save</button> <a href="${base}">Leave it</a></div></form>
<h2>Remove it</h2><form method="post" action="${base}/remove"><p>Only a batch that is defined or finished. ${
        entriesOf(batch.entries) === 0
          ? ''
          : `Its ${many(entriesOf(batch.entries), 'entry', 'entries')} go with it. `
      }</p>
${forgetsFinished(batch.entries.finished ?? 0)}
<button type="submit" class="danger">Remove ${batch.name}</button></form>`,
      parts: [],
    }
  }

const fieldsOf = async ({ ask }: PageContext, sent: FormState, batch: Stored): Promise<Html> => {
  const state = settledState(sent)
  const { items } = await ask<{ items: { name: string }[] }>('GET /v1/targets?limit=200')
  const { placement } = batch.defaults
  return html`
${inputField(state, { name: 'name', label: 'Name', required: true, maxlength: 63, value: batch.name ?? '' })}
${textField(state, { name: 'include_expression', label: 'Which machines (an expression)', required: true, value: batch.include_expression ?? '', hint: 'For example source == "paris" && has_tag("wave", "1"). Try it on the page of the instances.' })}
${selectField(state, { name: 'defaults.placement.target', label: 'To', value: placement.target, choices: items.map(({ name }) => [name, name] as const) })}
${inputField(state, { name: 'defaults.placement.target_project', label: 'Project', value: placement.target_project })}
${inputField(state, { name: 'defaults.placement.storage_pool', label: 'Storage pool', value: placement.storage_pool })}
<details${sent.errors.length > 0 ? html` open` : ''}><summary>How it is done</summary>
${Object.entries(scalarHints).map(([name, hint]) =>
  inputField(state, {
    name: `config.${name}`,
    label: words(name),
    hint,
    value: String(batch.config[name] ?? ''),
  }),
)}
${textField(state, { name: 'config.placement_scriptlet', label: 'Placement script', hint: 'JavaScript with a function placement(instance, batch); empty: the defaults.', value: String(batch.config.placement_scriptlet ?? '') })}
${checks(sent, batch)}</details>
<details${sent.errors.length > 0 ? html` open` : ''}><summary>Windows, constraints, probes and networks, as JSON</summary>
${jsonFields.map(({ field, label, hint, read }) =>
  textField(state, { name: field, label, hint, value: JSON.stringify(read(batch) ?? [], null, 1) }),
)}</details>`
}

const words = (name: string): string =>
  name.replaceAll('_', ' ').replace(/^./, (first) => first.toUpperCase())

const checks = (state: FormState, batch: Stored): Html => {
  const allowed = (batch.config.instance_restriction_overrides ?? {}) as Readonly<Record<string, boolean>>
  const all: readonly (readonly [name: string, label: string, stored: boolean])[] = [
    ...Object.entries(allowances).map(
      ([name, label]) =>
        [`config.instance_restriction_overrides.${name}`, label, allowed[name] === true] as const,
    ),
    [
      'config.rerun_scriptlets',
      'Ask the script at every try (which is done in any case)',
      batch.config.rerun_scriptlets === true,
    ],
    [
      'defaults.force_conflict_resolution',
      'Ignore conflicts where that is possible',
      batch.defaults.force_conflict_resolution,
    ],
    ['require_approval', 'Start only with an approved plan', batch.require_approval === true],
  ]
  return html`${all.map(([name, label, stored]) => {
    const id = `in-${name.replaceAll('.', '-')}`
    const on = state.problem === undefined ? stored : state.values[name] === 'yes'
    return html`<p class="check"><input type="checkbox" id="${id}" name="${name}" value="yes"${on ? html` checked` : ''}><label for="${id}">${label}</label></p>`
  })}`
}

/** What the form sent, as the API takes it. A number that is none is left for the API to refuse. */
export const batchOf = (values: Readonly<Record<string, string>>): Record<string, unknown> => {
  const text = (name: string) => values[name] ?? ''
  const yes = (name: string) => values[name] === 'yes'
  const number = (value: string) => (value === '' || Number.isNaN(Number(value)) ? value : Number(value))
  const counts = new Set(['post_migration_retries', 'sync_limit'])
  const json = Object.fromEntries(jsonFields.map(({ field, parse }) => [field, parse(text(field))]))
  const { 'defaults.migration_network': networks, ...rest } = json
  return {
    name: text('name'),
    include_expression: text('include_expression'),
    defaults: {
      placement: Object.fromEntries(
        ['target', 'target_project', 'storage_pool'].map((name) => [
          name,
          text(`defaults.placement.${name}`),
        ]),
      ),
      migration_network: networks,
      force_conflict_resolution: yes('defaults.force_conflict_resolution'),
    },
    config: {
      ...Object.fromEntries(
        Object.keys(scalarHints).map((name) => [
          name,
          counts.has(name) ? number(text(`config.${name}`)) : text(`config.${name}`),
        ]),
      ),
      placement_scriptlet: text('config.placement_scriptlet'),
      rerun_scriptlets: yes('config.rerun_scriptlets'),
      instance_restriction_overrides: Object.fromEntries(
        Object.keys(allowances).map((name) => [name, yes(`config.instance_restriction_overrides.${name}`)]),
      ),
    },
    ...rest,
    require_approval: yes('require_approval'),
  }
}

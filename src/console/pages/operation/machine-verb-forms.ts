import { html } from 'hono/html'
import { isApplicable } from '../../../domain/operation/kinds/applicability.ts'
import {
  type OperationKind,
  type OperationVariant,
  variantText,
} from '../../../domain/operation/kinds/kinds.ts'
import type { MachineSeen } from '../../kit/machine-shown.ts'
import { visible } from '../../kit/shown.ts'
import type { Html } from '../../kit/view.ts'

/** What is asked by one press. */
const plainKinds: readonly (readonly [kind: OperationKind, text: string])[] = [
  ['start', 'Start'],
  ['stop', 'Shut down'],
  ['restart', 'Restart'],
  ['hibernate', 'Hibernate'],
  ['wake', 'Wake'],
  ['evict', 'Move elsewhere'],
]

/** What is asked twice, because a guest may lose what it has not written. */
const forcedKinds: readonly (readonly [kind: OperationKind, text: string, risk: string])[] = [
  ['stop', 'Stop by force', 'I know that the plug is pulled: what the guest has not written is lost'],
  ['restart', 'Restart by force', 'I know that the guest is reset: what it has not written is lost'],
  ['evict', 'Move elsewhere by force', 'I know that the guest may be slowed down until it can be moved'],
]

const conflictTexts = [
  ['supersede', 'take its place where that is allowed, else be refused'],
  ['queue', 'wait behind it'],
  ['reject', 'be refused'],
] as const

/** What can be asked of a machine as it is now; what cannot is named, with why. */
export const machineVerbForms = (machine: MachineSeen): Html => {
  const may = (variant: OperationVariant) => offers(machine, variant)
  const plain = plainKinds.filter(([kind]) => may({ kind, force: false }))
  const forced = forcedKinds.filter(([kind]) => may({ kind, force: true }))
  return html`${plain.length === 0 ? '' : plainForm(machine, plain)}
${forced.map(([kind, text, risk]) => forcedForm(machine, { kind, text, risk }))}
${may({ kind: 'wake', force: false }) ? wakeForm(machine) : ''}
${may({ kind: 'migrate', force: false }) ? migrateForm(machine) : ''}
${may({ kind: 'snapshot', force: false }) ? snapshotForm(machine) : ''}
${may({ kind: 'restore', force: false }) ? restoreForm(machine) : ''}
${may({ kind: 'clone', force: false }) ? cloneForm(machine) : ''}
${machine.operation === null || machine.in_migration ? '' : queueForm(machine)}
${notNowHtml(machine)}`
}

/** Whether it makes sense then is judged when its turn has come. */
const queueForm = (machine: MachineSeen): Html =>
  html`<details class="waive" data-key="verb-queue"><summary>Queue something behind it<span class="sr"> at ${visible(machine.name)}</span></summary>
<form method="post" action="/machines/${machine.id}" class="form"><input type="hidden" name="on_conflict" value="queue">
<div class="field"><label for="queue-kind">What comes next</label><select id="queue-kind" name="kind">${[
    ...plainKinds,
    ['snapshot', 'Take a snapshot'],
  ].map(([kind, text]) => html`<option value="${kind}">${text}</option>`)}</select></div>
<button type="submit">Queue it</button></form></details>`

/** In a migration only that stop is taken which gives the migration up. */
const offers = (machine: MachineSeen, variant: OperationVariant): boolean => {
  if (machine.in_migration && !(variant.kind === 'stop' && variant.force)) return false
  return isApplicable(variant, { policy: machine.run_policy, phase: machine.phase }) === 'yes'
}

const kindsOffered = [...plainKinds.map(([kind]) => kind), 'snapshot', 'restore', 'clone', 'migrate'] as const

const notNowHtml = (machine: MachineSeen): Html => {
  const of = (why: string) =>
    kindsOffered.filter((kind) => {
      const variant = { kind, force: false }
      return isApplicable(variant, { policy: machine.run_policy, phase: machine.phase }) === why
    })
  const [policy, phase] = [of('not-for-run-policy'), of('not-for-phase')]
  return html`${policy.length === 0 ? '' : html`<p class="hint">Not under the run policy ${machine.run_policy}: ${policy.join(', ')}.</p>`}${
    phase.length === 0 ? '' : html`<p class="hint">Not while it is ${machine.phase}: ${phase.join(', ')}.</p>`
  }`
}

const conflictSelect = (machine: MachineSeen, part: string): Html =>
  machine.operation === null && machine.queued === 0
    ? html``
    : html`<div class="field"><label for="conflict-${part}">Where another operation is at the machine</label>
<select id="conflict-${part}" name="on_conflict">${conflictTexts.map(([value, text]) => html`<option value="${value}">${text}</option>`)}</select></div>`

const plainForm = (machine: MachineSeen, kinds: typeof plainKinds): Html =>
  html`<form method="post" action="/machines/${machine.id}" class="form">${conflictSelect(machine, 'plain')}
<div class="buttons">${kinds.map(([kind, text]) => html`<button type="submit" name="kind" value="${kind}">${text}</button>`)}</div></form>`

const detailed = (
  machine: MachineSeen,
  {
    variant,
    text,
    fields,
    danger = false,
  }: {
    readonly variant: OperationVariant
    readonly text: string
    readonly fields: Html
    readonly danger?: boolean
  },
): Html => {
  const part = variantText(variant).replace('!', '-force')
  return html`<details class="waive" data-key="verb-${part}"><summary>${text}<span class="sr"> ${visible(machine.name)}</span></summary>
<form method="post" action="/machines/${machine.id}" class="form">
<input type="hidden" name="kind" value="${variant.kind}">${variant.force ? html`<input type="hidden" name="force" value="yes">` : ''}
${fields}${conflictSelect(machine, part)}
<button type="submit"${danger ? html` class="danger"` : ''}>${text}</button></form></details>`
}

const tick = (id: string, name: string, text: string, required = false): Html =>
  html`<p class="check"><input type="checkbox" id="${id}" name="${name}" value="yes"${required ? html` required` : ''}>
<label for="${id}">${text}</label></p>`

const textInput = (
  id: string,
  name: string,
  label: string,
  { required = false, hint = '' }: { readonly required?: boolean; readonly hint?: string } = {},
): Html =>
  html`<div class="field"><label for="${id}">${label}</label><input id="${id}" name="${name}" type="text" maxlength="200" autocomplete="off" spellcheck="false"${
    required ? html` required` : ''
  }${hint === '' ? '' : html` aria-describedby="${id}-hint"`}>${hint === '' ? '' : html`<p class="hint" id="${id}-hint">${hint}</p>`}</div>`

const forcedForm = (
  machine: MachineSeen,
  { kind, text, risk }: { readonly kind: OperationKind; readonly text: string; readonly risk: string },
): Html =>
  detailed(machine, {
    variant: { kind, force: true },
    text,
    danger: true,
    fields: html`${
      machine.in_migration
        ? html`<p>It belongs to a migration that is under way: that is given up first.</p>`
        : ''
    }${tick(`sure-${kind}`, 'sure', risk, true)}`,
  })

const wakeForm = (machine: MachineSeen): Html =>
  detailed(machine, {
    variant: { kind: 'wake', force: false },
    text: 'Wake it otherwise',
    fields: html`${textInput('wake-host', 'host', 'Host', { hint: 'By name. Left empty: where it was.' })}
${tick('wake-cold', 'cold', 'Give its saved memory up, and start it as after a power cut')}
${tick('sure-wake', 'sure', 'If so, I know that what was in that memory is lost')}`,
  })

const migrateForm = (machine: MachineSeen): Html =>
  detailed(machine, {
    variant: { kind: 'migrate', force: false },
    text: 'Move to a host',
    fields: textInput('migrate-host', 'host', 'Host', {
      hint: 'By name. Left empty: the best one is found.',
    }),
  })

const snapshotForm = (machine: MachineSeen): Html =>
  detailed(machine, {
    variant: { kind: 'snapshot', force: false },
    text: 'Take a snapshot',
    fields: html`${textInput('snapshot-name', 'name', 'Name', { hint: 'Left empty: one is made up.' })}
${tick('snapshot-memory', 'memory', 'With its memory')}${tick('snapshot-quiesce', 'quiesce', 'Have the guest write everything first')}`,
  })

const restoreForm = (machine: MachineSeen): Html =>
  detailed(machine, {
    variant: { kind: 'restore', force: false },
    text: 'Go back to a snapshot',
    danger: true,
    fields: html`${textInput('restore-snapshot', 'snapshot', 'Snapshot', { required: true, hint: 'By its name or the platform’s id.' })}
${tick('sure-restore', 'sure', 'I know that what was written since then is lost', true)}`,
  })

const cloneForm = (machine: MachineSeen): Html =>
  detailed(machine, {
    variant: { kind: 'clone', force: false },
    text: 'Clone',
    fields: html`${textInput('clone-name', 'name', 'Name of the clone', { required: true })}
${textInput('clone-folder', 'folder', 'Folder', { hint: 'Left empty: beside the original.' })}`,
  })

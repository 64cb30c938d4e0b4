import { html } from 'hono/html'
import type { PlanSummary } from '../../../api/resources/migration/plans.ts'
import { type BatchState, mayHappen } from '../../../domain/migration/batch/batch-table.ts'
import { whatStays } from '../../../domain/migration/entry/reasons.ts'
import { many } from '../../../domain/words/many.ts'
import { downBeforeHtml } from '../../kit/down-shown.ts'
import type { Html } from '../../kit/view.ts'
import type { BatchDetailSeen } from './batch.ts'

/** What can be done about a batch in its state; whatever throws work away is said twice. */
export const batchVerbForms = (batch: BatchDetailSeen, plan: PlanSummary | undefined): Html => {
  const can = (event: 'start' | 'stop' | 'reset') => mayHappen(batch.state as BatchState, event)
  return html`${can('start') ? startForm(batch, plan) : ''}
${
  can('stop')
    ? confirmed(
        batch.name,
        'stop',
        'Stop it',
        'Its work lets go at the next safe point, and goes on from there after a start.',
        downBeforeHtml('stop', batch.down),
      )
    : ''
}
${can('reset') ? resetForm(batch) : ''}`
}

const startForm = ({ name, state, matched }: BatchDetailSeen, plan: PlanSummary | undefined): Html =>
  confirmed(
    name,
    'start',
    state === 'stopped' ? 'Let it go on' : 'Start it',
    state === 'stopped'
      ? 'Every entry goes on where it was.'
      : `${matched} machines matched last. They are copied now, and switched off and cut over as soon as their windows allow.${
          plan === undefined ? ' Nobody has planned it.' : ''
        }`,
  )

const confirmed = (name: string, verb: string, text: string, meaning: string, first: Html = html``): Html =>
  html`<details class="waive"><summary>${text}</summary>
<form method="post" action="/batches/${name}/${verb}">${first}<p>${meaning}</p>
<p class="check"><input type="checkbox" id="sure-${verb}" name="sure" value="yes" required><label for="sure-${verb}">Yes, the batch ${name}</label></p>
<button type="submit">${text}</button></form></details>`

const resetForm = ({ name, entries, down }: BatchDetailSeen): Html =>
  html`<details class="waive"><summary>Reset it</summary>
<form method="post" action="/batches/${name}/reset">${downBeforeHtml('reset', down)}
<p>Its entries are thrown away, with the copies that they made. Sources that were switched off are started again.</p>
${forgetsFinished(entries.finished ?? 0)}
<p class="check"><input type="checkbox" id="sure-reset" name="sure" value="yes" required><label for="sure-reset">Yes, the batch ${name}</label></p>
<p class="check"><input type="checkbox" id="force-reset" name="force" value="yes">
<label for="force-reset">Also machines in the middle of their cutover</label></p>
<button type="submit" class="danger">Reset the batch</button></form></details>`

/** What a person reads and confirms before the list of what was migrated goes, with the number that was shown. */
export const forgetsFinished = (finished: number): Html =>
  finished === 0
    ? html``
    : html`<p><strong>${many(finished, 'finished migration is', 'finished migrations are')} forgotten.</strong> ${whatStays}</p>
<input type="hidden" name="finished" value="${finished}">
<p class="check"><input type="checkbox" id="sure-finished" name="sure-finished" value="yes" required>
<label for="sure-finished">Yes, forget ${finished === 1 ? 'it' : `all ${finished}`}</label></p>`

import { html } from 'hono/html'
import type { EffectView } from '../../../api/resources/jobs/effect-view.ts'
import { many } from '../../../domain/text/sentence.ts'
import { ago, badge, type Html, jobLink, table } from '../../kit/view.ts'

/** Effects as a table; a debt can be waived where the reader may. */
export const effectTable = (options: {
  readonly label: string
  readonly effects: readonly EffectView[]
  readonly nowMs: number
  readonly empty: string
  readonly withJob: boolean
  /** Where to go after a waiver; absent for those who may not. */
  readonly waiveBack: string | undefined
}): Html =>
  table({
    label: options.label,
    head: ['Effect', 'State', 'Where', ...(options.withJob ? ['Job'] : []), 'Changed', 'How it is'],
    empty: options.empty,
    rows: options.effects.map(
      (
        effect,
      ) => html`<tr data-key="${effect.id}"><td class="long">${effect.kind} <code>${effect.name}</code></td>
<td>${badge(effect.state)}</td><td>${effect.platform}</td>${options.withJob ? html`<td>${jobLink(effect.job_id)}</td>` : ''}
<td class="nowrap">${ago(effect.updated_at, options.nowMs)}</td><td>${standing(effect, options.nowMs)}
${options.waiveBack !== undefined && effect.state === 'debt' ? waiveForm(effect, options.waiveBack) : ''}</td></tr>`,
    ),
  })

const standing = (effect: EffectView, nowMs: number): Html => {
  if (effect.waived !== null) return html`${effect.waived.by}: ${effect.waived.reason}`
  if (effect.state !== 'debt')
    return html`${effect.external_id === null ? '' : html`<code>${effect.external_id}</code>`}`
  const error = effect.error as { message?: unknown } | null
  return html`${String(error?.message ?? 'to be undone')}; ${many(effect.attempts, 'try', 'tries')}, next ${ago(effect.next_try_at, nowMs)}`
}

const waiveForm = (
  effect: EffectView,
  back: string,
): Html => html`<details class="waive"><summary>Waive<span class="sr"> ${effect.kind} ${effect.name}</span></summary>
<form method="post" action="/effects/${effect.id}/waive"><input type="hidden" name="back" value="${back}">
<label for="why-${effect.id}">Why nobody has to undo it</label>
<input id="why-${effect.id}" name="reason" required maxlength="500">
<button type="submit">Waive the debt</button></form></details>`

import { html } from 'hono/html'
import { visible } from '../../kit/shown.ts'
import { type Html, table } from '../../kit/view.ts'

/** Where an entry lands, which step of the decision said so, and what the script had to say. */
export const placeHtml = (entry: {
  readonly placement: Readonly<Record<string, unknown>> | null
  readonly why_here: readonly { readonly what: string; readonly value: string; readonly because: string }[]
  readonly script_log: readonly string[]
}): Html =>
  html`${
    entry.placement === null && entry.why_here.length === 0
      ? html`<p class="empty">It has no place yet.</p>`
      : table({
          label: 'Placement',
          head: ['What', 'Where', 'Because of'],
          empty: 'Nothing is recorded of why.',
          rows: entry.why_here.map(
            ({
              what,
              value,
              because,
            }) => html`<tr data-key="${what}"><th scope="row" class="long">${visible(what)}</th>
<td class="long">${visible(value)}</td><td class="long">${visible(because)}</td></tr>`,
          ),
        })
  }${
    entry.script_log.length === 0
      ? ''
      : html`<details><summary>What the placement script wrote</summary><pre tabindex="0">${entry.script_log.map(visible).join('\n')}</pre></details>`
  }`

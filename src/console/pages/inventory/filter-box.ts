import { html } from 'hono/html'
import { ApiError } from '../../../api/wire/problem.ts'
import { visible } from '../../kit/shown.ts'
import type { Html } from '../../kit/view.ts'

/** A form that narrows a list down with an expression; what it says of a mistake is `filterProblem`. */
export const filterBox = (options: {
  readonly action: string
  readonly query: URLSearchParams
  readonly refused: ApiError | undefined
  readonly label: string
  readonly placeholder: string
  /** Other questions of the address that stay. */
  readonly keep: readonly string[]
  readonly more?: Html
}): Html => {
  const { action, query, refused, keep } = options
  return html`<form class="filter" method="get" action="${action}" role="search">
<div class="wide"><label for="f-filter">${options.label}</label>
<input id="f-filter" name="filter" value="${query.get('filter') ?? ''}" placeholder="${options.placeholder}" maxlength="4000"
 autocomplete="off" spellcheck="false"${refused ? html` aria-invalid="true" aria-describedby="filter-error"` : ''}></div>
${options.more ?? ''}
${keep.map((name) => (query.get(name) ? html`<input type="hidden" name="${name}" value="${query.get(name) ?? ''}">` : ''))}
<button type="submit">Filter</button> <a href="${action}">Clear</a></form>`
}

/** What was asked for, or the refusal of its filter, which the page then shows. */
export const orRefused = async <Found>(ask: () => Promise<Found>): Promise<Found | ApiError> => {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof ApiError && error.code === 'filter-invalid') return error
    throw error
  }
}

/** What is wrong with an expression, with a caret under the character. */
export const filterProblem = (refused: ApiError): Html => {
  const [message = '', ...drawing] = refused.message.split('\n')
  return html`<div class="problem" id="filter-error" role="alert"><p><strong>The filter cannot be used:</strong> ${visible(message)}</p>
${drawing.length === 0 ? '' : html`<pre class="caret" tabindex="0" role="region" aria-label="Where in the filter">${drawing.map(visible).join('\n')}</pre>`}
<p>${visible(refused.remedy)}</p></div>`
}

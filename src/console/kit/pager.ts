import { html } from 'hono/html'
import type { Html } from './view.ts'

const backwards = { first: 'The newest', next: 'Older' }

/** The words of a pager where the list does not begin with what is newest. */
export const onwards = { first: 'The first', next: 'More' }

/** Links between pages. There is no way to one before: the browser's own way back is that. */
export const pager = (path: string, query: URLSearchParams, next: string | null, words = backwards): Html => {
  const first = new URLSearchParams(query)
  const onward = new URLSearchParams(query)
  first.delete('cursor')
  if (next !== null) onward.set('cursor', next)
  return html`<nav class="pager" aria-label="Pages">${
    query.has('cursor') ? html`<a href="${path}?${first.toString()}">${words.first}</a>` : ''
  } ${next === null ? '' : html`<a rel="next" href="${path}?${onward.toString()}">${words.next}</a>`}</nav>`
}

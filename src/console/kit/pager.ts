import { html } from 'hono/html'
import type { Html } from './view.ts'

const backwards = { first: 'The newest', next: 'Older' }

/** Not questions: they do not narrow a list down. */
const besideFilters = new Set(['notice', 'count', 'cursor'])

/** What an empty list says: `none` is true only of a whole list. */
export const emptyText = (query: URLSearchParams, none: string): string => {
  if (query.has('cursor')) return 'There is nothing more.'
  const narrowed = [...query].some(
    ([name, value]) => value !== '' && value !== 'any' && !besideFilters.has(name),
  )
  return narrowed ? 'Nothing fits the filter.' : none
}

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

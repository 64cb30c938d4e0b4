import { html } from 'hono/html'
import type { Html } from './view.ts'

/** The site that something belongs to, as a link. */
export const siteLink = ({ source, target }: { source: string | null; target: string | null }): Html => {
  const [path, name] = source === null ? ['targets', target ?? ''] : ['sources', source]
  return html`<a href="/${path}/${encodeURIComponent(name)}">${name}</a>`
}

import { html } from 'hono/html'
import type { Overview, ReadinessCounts, WatchedSite } from '../../../api/screens/overview.ts'
import { many } from '../../../domain/text/sentence.ts'
import type { Html } from '../../kit/view.ts'

const isConnected = ({ connectivity }: WatchedSite): boolean => connectivity === 'ok'

/** The inventory in one line each: what is known, and what of it needs somebody. */
export const inventorySummary = ({ sites, readiness, unread }: Overview['inventory']): Html => {
  if (sites.length === 0)
    return html`<p class="empty">No source and no target yet. <a href="/sources">Add a source</a> to see its machines here.</p>`
  const sum = (of: keyof ReadinessCounts) => readiness.reduce((total, counts) => total + counts[of], 0)
  return html`<ul class="inventory">
<li><span>Sources</span><span>${sitesText(sites, 'source')}</span></li>
<li><span>Targets</span><span>${sitesText(sites, 'target')}</span></li>
<li><span>Machines</span><span><a href="/instances">${sum('instances')}</a>: <a href="/instances?readiness=ready">${sum('ready')} ready</a>,
<a href="/instances?readiness=warning">${sum('warning')} with warnings</a>, <a href="/instances?readiness=blocked">${sum('blocked')} blocked</a>.
<a href="/assessment">Why</a>${sum('migrated') === 0 ? '' : html`; <a href="/instances?show=migrated">${sum('migrated')} migrated</a>`}</span></li>
<li><span>Warnings</span><span>${unread === 0 ? 'none is new' : html`<a href="/warnings">${unread} new</a>`}</span></li></ul>`
}

const sitesText = (sites: readonly WatchedSite[], role: string): Html => {
  const ours = sites.filter((site) => site.role === role)
  const away = ours.filter((site) => !isConnected(site)).length
  return html`<a href="/${role}s">${many(ours.length, role)}</a>${away === 0 ? '' : `, ${away} not connected`}`
}

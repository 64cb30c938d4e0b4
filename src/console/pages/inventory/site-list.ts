import { html } from 'hono/html'
import type { SiteView } from '../../../api/resources/inventory/site-view.ts'
import type { SiteRole } from '../../../domain/inventory/site-settings.ts'
import { many } from '../../../domain/text/sentence.ts'
import { withQuery } from '../../kit/ask.ts'
import { mayAdminister, type Page, type PageContext } from '../../kit/page.ts'
import { pager } from '../../kit/pager.ts'
import { connectionBadge, outside, visible } from '../../kit/shown.ts'
import { ago, type Html, table } from '../../kit/view.ts'

export const titleOf = (role: SiteRole): string => (role === 'source' ? 'Sources' : 'Targets')

const intros: Readonly<Record<SiteRole, string>> = {
  source: 'Where machines are now. Drover reads them again and again; it changes nothing there unless asked.',
  target: 'Where machines go.',
}

export interface AssessedSource {
  readonly source: string
  readonly instances: number
  readonly ready: number
  readonly warning: number
  readonly blocked: number
  readonly migrated: number
}

/** Whether an event may have changed what a page about sites shows. */
export const isAboutSites = (event: { readonly type: string }): boolean =>
  /^(source|target|instance|waiver|network|warning)\./.test(event.type)

/** All sources, or all targets: whether they are connected and how fresh what is known of them is. */
export const siteListPage =
  (role: SiteRole) =>
  async (context: PageContext): Promise<Page> => {
    const { ask, query, nowMs } = context
    const path = `/${role}s`
    const [page, assessed] = await Promise.all([
      ask<{ items: SiteView[]; next_cursor: string | null }>(
        `GET ${withQuery(`/v1/${role}s`, { cursor: query.get('cursor') })}`,
      ),
      role === 'source' ? ask<{ sources: AssessedSource[] }>('GET /v1/assessment') : { sources: [] },
    ])
    const bySource = new Map(assessed.sources.map((counts) => [counts.source, counts]))
    return {
      title: titleOf(role),
      intro: html`<p>${intros[role]}</p>${
        mayAdminister(context) ? html`<p><a class="action" href="/add-${role}">Add a ${role}</a></p>` : ''
      }`,
      wakesOn: isAboutSites,
      parts: [
        {
          id: 'sites',
          html: html`${table({
            label: titleOf(role),
            head: ['Name', 'Platform', 'Connection', ...(role === 'source' ? ['Machines'] : []), 'Last sync'],
            empty: `There is no ${role} yet.`,
            rows: page.items.map((site) => siteRow(site, { role, nowMs, counts: bySource.get(site.name) })),
          })}${pager(path, query, page.next_cursor)}`,
        },
      ],
    }
  }

const siteRow = (
  site: SiteView,
  { role, nowMs, counts }: { role: SiteRole; nowMs: number; counts: AssessedSource | undefined },
): Html => html`<tr data-key="${site.id}"><th scope="row"><a href="/${role}s/${site.name}">${site.name}</a></th>
<td class="long">${productOf(site)}</td><td>${connectionBadge(site.connectivity.state)}</td>
${role === 'source' ? html`<td>${counts === undefined ? html`<span class="dim">none yet</span>` : countsText(counts)}</td>` : ''}
<td>${syncText(site, nowMs)}</td></tr>`

export const productOf = ({ identity, kind }: Pick<SiteView, 'identity' | 'kind'>): Html =>
  identity === null ? html`${kind}` : outside(`${identity.product ?? kind} ${identity.version ?? ''}`.trim())

const countsText = (counts: AssessedSource): string =>
  `${counts.instances}: ${counts.ready} ready, ${counts.warning} with warnings, ${counts.blocked} blocked`

export const syncText = (site: SiteView, nowMs: number): Html => {
  if (site.syncing) return html`<span class="badge is-running">reading now</span>`
  if (site.sync.error !== null)
    return html`<span class="badge is-blocked">failed</span> ${visible(site.sync.error.message)}`
  return html`${ago(site.sync.synced_at, nowMs)}`
}

/** `24 machines`, as a link to them; words alone where there are none. */
export const countLink = (count: number, thing: string, href: string): Html =>
  count === 0
    ? html`<span class="dim">no ${thing}s</span>`
    : html`<a href="${href}">${many(count, thing)}</a>`

import { html } from 'hono/html'
import type { NetworkView } from '../../../api/resources/inventory/networks.ts'
import { ApiError } from '../../../api/wire/problem.ts'
import { withQuery } from '../../kit/ask.ts'
import type { Page, PageContext } from '../../kit/page.ts'
import { emptyText, pager } from '../../kit/pager.ts'
import { outside, siteLink, visible } from '../../kit/shown.ts'
import { type Html, table } from '../../kit/view.ts'
import { filterBox, filterProblem, orRefused } from './filter-box.ts'
import { isAboutSites } from './site-list.ts'

interface NetworkPage {
  readonly items: readonly NetworkView[]
  readonly next_cursor: string | null
}

/** The networks of sources and targets; of a source's, where their cards land. */
export const networksPage = async (context: PageContext): Promise<Page> => {
  const { ask, query } = context
  const asked = Object.fromEntries(
    ['source', 'target', 'filter', 'cursor'].map((name) => [name, query.get(name)]),
  )
  const page = await orRefused(() => ask<NetworkPage>(`GET ${withQuery('/v1/networks', asked)}`))
  const refused = page instanceof ApiError ? page : undefined
  const { items, next_cursor: next } = page instanceof ApiError ? { items: [], next_cursor: null } : page
  return {
    title: 'Networks',
    intro: filterBox({
      action: '/networks',
      query,
      refused,
      label: 'Filter',
      placeholder: 'type == "distributed"',
      keep: ['source', 'target'],
    }),
    wakesOn: isAboutSites,
    everyMs: 15_000,
    parts: [
      {
        id: 'networks',
        html: refused
          ? filterProblem(refused)
          : html`${table({
              label: 'Networks',
              head: ['Name', 'Of', 'Kind', 'VLAN', 'Where its cards land'],
              empty: emptyText(query, 'No network is known.'),
              rows: items.map(networkRow),
            })}${pager('/networks', query, next)}`,
      },
    ],
  }
}

const networkRow = (network: NetworkView): Html => html`<tr data-key="${network.id}">
<th scope="row" class="long"><a href="/networks/${network.id}">${outside(network.name)}</a></th>
<td>${siteLink(network)}</td><td>${network.type}</td><td class="long">${visible(network.vlan)}</td>
<td class="long">${network.placement === null ? '' : placementText(network.placement)}
${Object.keys(network.overrides).length > 0 ? html`<span class="dim">(by hand)</span>` : ''}</td></tr>`

export const placementText = (placement: { network: string; nictype: string; vlan_id: string }): Html =>
  html`${outside(placement.network)}, ${placement.nictype}${placement.vlan_id === '' ? '' : `, VLAN ${visible(placement.vlan_id)}`}`

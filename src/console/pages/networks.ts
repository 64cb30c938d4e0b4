import { html } from 'hono/html'
import type { z } from 'zod'
import { ApiError } from '../../api/problem.ts'
import type { networkSchema } from '../../api/resources/networks.ts'
import { withQuery } from '../ask.ts'
import type { Page, PageContext } from '../page.ts'
import { outside, visible } from '../shown.ts'
import { type Html, table } from '../view.ts'
import { filterBox, filterProblem } from './filter-box.ts'
import { siteLink } from './hosts.ts'
import { pager } from './jobs.ts'
import { isAboutSites } from './site-list.ts'

export type NetworkSeen = z.infer<typeof networkSchema>

interface NetworkPage {
  readonly items: readonly NetworkSeen[]
  readonly next_cursor: string | null
}

const read = async ({ ask, query }: PageContext): Promise<NetworkPage | ApiError> => {
  const address = withQuery('/v1/networks', {
    source: query.get('source'),
    target: query.get('target'),
    filter: query.get('filter'),
    cursor: query.get('cursor'),
  })
  try {
    return await ask<NetworkPage>(`GET ${address}`)
  } catch (error) {
    if (error instanceof ApiError && error.code === 'filter-invalid') return error
    throw error
  }
}

/** The networks of sources and targets; of a source's, where their cards land. */
export const networksPage = async (context: PageContext): Promise<Page> => {
  const { query } = context
  const page = await read(context)
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
              empty: query.has('filter') ? 'No network fits.' : 'No network is known.',
              rows: items.map(networkRow),
            })}${pager('/networks', query, next)}`,
      },
    ],
  }
}

const networkRow = (network: NetworkSeen): Html => html`<tr data-key="${network.id}">
<th scope="row" class="long"><a href="/networks/${network.id}">${outside(network.name)}</a></th>
<td>${siteLink(network)}</td><td>${network.type}</td><td class="long">${visible(network.vlan)}</td>
<td class="long">${network.placement === null ? '' : placementText(network.placement)}
${Object.keys(network.overrides).length > 0 ? html`<span class="dim">(by hand)</span>` : ''}</td></tr>`

export const placementText = (placement: { network: string; nictype: string; vlan_id: string }): Html =>
  html`${outside(placement.network)}, ${placement.nictype}${placement.vlan_id === '' ? '' : `, VLAN ${visible(placement.vlan_id)}`}`

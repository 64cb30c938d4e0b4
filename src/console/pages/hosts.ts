import { html } from 'hono/html'
import type { HostFacts } from '../../domain/inventory/facts.ts'
import { withQuery } from '../ask.ts'
import type { Page, PageContext } from '../page.ts'
import { bytes, outside, visible } from '../shown.ts'
import { type Html, table } from '../view.ts'
import { pager } from './jobs.ts'
import { isAboutSites } from './site-list.ts'

interface HostSeen extends HostFacts {
  readonly id: string
  readonly source: string | null
  readonly target: string | null
}

/** The site that something belongs to, as a link. */
export const siteLink = ({ source, target }: { source: string | null; target: string | null }): Html => {
  const [path, name] = source === null ? ['targets', target ?? ''] : ['sources', source]
  return html`<a href="/${path}/${encodeURIComponent(name)}">${name}</a>`
}

/** The members of sources and targets that run machines, with what is free on them. */
export const hostsPage = async ({ ask, query }: PageContext): Promise<Page> => {
  const address = withQuery('/v1/hosts', {
    source: query.get('source'),
    target: query.get('target'),
    cursor: query.get('cursor'),
  })
  const page = await ask<{ items: HostSeen[]; next_cursor: string | null }>(`GET ${address}`)
  return {
    title: 'Hosts',
    intro: html`<p>What runs machines at sources and targets, as it was when they were read last.</p>`,
    wakesOn: isAboutSites,
    parts: [
      {
        id: 'hosts',
        html: html`${table({
          label: 'Hosts',
          head: ['Name', 'Of', 'State', 'CPUs', 'Memory', 'Processor', 'Version'],
          empty: 'No host is known.',
          rows: page.items.map(hostRow),
        })}${pager('/hosts', query, page.next_cursor)}`,
      },
    ],
  }
}

const looks: Readonly<Record<HostFacts['state'], string>> = {
  connected: 'fit',
  maintenance: 'wary',
  disconnected: 'blocked',
  'not-responding': 'blocked',
}

const hostRow = (host: HostSeen): Html => html`<tr data-key="${host.id}">
<th scope="row" class="long">${outside(host.name)}</th><td>${siteLink(host)}</td>
<td><span class="badge is-${looks[host.state]}">${host.state.replaceAll('-', ' ')}</span></td>
<td class="nowrap">${host.cpus}</td>
<td class="nowrap">${bytes(Math.max(0, host.memory - host.memory_used))} of ${bytes(host.memory)} free</td>
<td class="long">${visible(host.cpu_model)}</td><td class="long">${visible(host.version)}</td></tr>`

import { html } from 'hono/html'
import type { HostFacts } from '../../../domain/inventory/facts.ts'
import { bytes } from '../../../domain/text/bytes.ts'
import { listPage } from '../../kit/list-page.ts'
import { emptyText } from '../../kit/pager.ts'
import { outside, siteLink, visible } from '../../kit/shown.ts'
import { type Html, table } from '../../kit/view.ts'
import { isAboutSites } from './site-list.ts'

interface HostSeen extends HostFacts {
  readonly id: string
  readonly source: string | null
  readonly target: string | null
}

/** The members of sources and targets that run machines, with what is free on them. */
export const hostsPage = listPage<HostSeen>({
  title: 'Hosts',
  from: '/v1/hosts',
  asks: ['source', 'target'],
  part: 'hosts',
  intro: () => html`<p>What runs machines at sources and targets, as it was when they were read last.</p>`,
  wakesOn: isAboutSites,
  list: (hosts, { query }) =>
    table({
      label: 'Hosts',
      head: ['Name', 'Of', 'State', 'CPUs', 'Memory', 'Processor', 'Version'],
      empty: emptyText(query, 'No host is known.'),
      rows: hosts.map(hostRow),
    }),
})

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

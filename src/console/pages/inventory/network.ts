import { html } from 'hono/html'
import type { NetworkView } from '../../../api/resources/inventory/networks.ts'
import { uuidKey } from '../../../api/wire/page.ts'
import { notFound } from '../../../api/wire/problem.ts'
import { nicTypes } from '../../../domain/inventory/overrides.ts'
import { emptyForm, type FormState, inputField, problemBox, selectField } from '../../kit/form.ts'
import { mayOperate, type Page, type PageContext } from '../../kit/page.ts'
import { siteLink, visible } from '../../kit/shown.ts'
import { definition, type Html } from '../../kit/view.ts'
import { placementText } from './networks.ts'
import { isAboutSites } from './site-list.ts'

/** One network: what it is, where its cards land on a target, and the form that says otherwise. */
export const networkPage =
  (state: FormState = emptyForm) =>
  async (context: PageContext): Promise<Page> => {
    const id = context.params.id ?? ''
    if (!uuidKey.test(id)) throw notFound('network', id.slice(0, 60))
    const network = await context.ask<NetworkView>(`GET /v1/networks/${id}`)
    const editable = network.placement !== null && mayOperate(context)
    return {
      title: visible(network.name),
      intro: editable ? overridesForm(state, network) : html``,
      wakesOn: isAboutSites,
      parts: [{ id: 'facts', title: 'Facts', html: factsHtml(network) }],
    }
  }

const overridesForm = (state: FormState, network: NetworkView): Html => {
  const given = network.overrides as Readonly<Record<string, string | undefined>>
  return html`${problemBox(state)}<form class="form" method="post" action="/networks/${network.id}">
<h2>Where its cards land</h2>
<p>Now: ${network.placement === null ? '' : placementText(network.placement)}. Leave all of it empty for what Drover would choose.</p>
<input type="hidden" name="version" value="${state.values.version ?? network.version}">
${inputField(state, { name: 'network', label: 'Network of the target', value: given.network ?? '', maxlength: 63 })}
${selectField(state, {
  name: 'nictype',
  label: 'Kind of card',
  value: given.nictype ?? '',
  choices: [['', 'as Drover would choose'], ...nicTypes.map((type) => [type, type] as const)],
})}
${inputField(state, { name: 'vlan_id', label: 'VLAN', value: given.vlan_id ?? '', hint: 'For example 100, or 100,200-210; not for a managed network.', maxlength: 200 })}
<div class="buttons"><button type="submit">Save</button></div></form>`
}

const factsHtml = (network: NetworkView): Html =>
  html`${definition([
    ['Of', siteLink(network)],
    ['Kind', network.type],
    ['Location', html`<code>${visible(network.location)}</code>`],
    ['Switch', visible(network.switch)],
    ['VLAN', visible(network.vlan) || 'none'],
    ['Subnets', network.subnets.map(visible).join(', ') || 'not known'],
    ['Reachable', network.accessible ? 'yes' : 'no'],
  ])}
<p class="dim">The same for programs: <a href="/v1/networks/${network.id}">/v1/networks/${network.id}</a>,
<a href="/v1/networks/${network.id}/instances">its machines</a></p>`

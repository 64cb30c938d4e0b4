import { html } from 'hono/html'
import type { SiteDetail } from '../../../api/resources/inventory/site-view.ts'
import { mayAdminister, type PageContext } from '../../kit/page.ts'
import { visible } from '../../kit/shown.ts'
import { definition, type Html } from '../../kit/view.ts'

/** `ab:cd:…`, as most programs show it; with places where a line may break. */
const spaced = (fingerprint: string): Html =>
  html`<code class="fingerprint">${(fingerprint.replaceAll(':', '').match(/.{1,8}/g) ?? []).map(
    (group, at) => html`${at === 0 ? '' : html` <wbr>`}${(group.match(/.{1,2}/g) ?? []).join(':')}`,
  )}</code>`

/** What the server showed, and the button that a person presses only after comparing it at the server itself. */
export const confirmForm = (context: PageContext, base: string, site: SiteDetail): Html => {
  const seen = site.connectivity.seen_certificate ?? {}
  const fact = (name: string) => visible(seen[name] ?? '') || 'not said'
  const before = site.fingerprint
  return html`<div id="certificate" class="certificate"><h2>The certificate that answered</h2>
${
  before === ''
    ? html`<p>Nobody has confirmed it yet.</p>`
    : html`<p><strong>It is not the one that was confirmed before.</strong> Was it renewed? Then the new one is right.
If nobody renewed it, somebody else may be answering. Before: ${spaced(before)}</p>`
}
${definition([
  ['Fingerprint', spaced(seen.fingerprint ?? '')],
  ['Issued to', fact('subject')],
  ['Issued by', fact('issuer')],
  ['Valid', `${fact('valid_from').slice(0, 10)} to ${fact('valid_to').slice(0, 10)}`],
  ['Names', fact('names')],
  ['Why ask', fact('reason')],
])}
${
  mayAdminister(context)
    ? html`<form method="post" action="${base}/confirm"><input type="hidden" name="fingerprint" value="${seen.fingerprint ?? ''}">
<p>Look at the platform itself, by another way than this network address (its own console, or somebody who runs it),
and compare the SHA-256 fingerprint there with this one, digit by digit. Whoever confirms a wrong one gives the
password to a stranger.</p>
<p class="check"><input type="checkbox" id="compared" name="compared" value="yes" required>
<label for="compared">I have compared the fingerprint with the one at the platform, and it is the same</label></p>
<button type="submit">Trust this certificate</button></form>`
    : html`<p>An admin has to compare and confirm it.</p>`
}</div>`
}

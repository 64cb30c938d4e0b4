import { html } from 'hono/html'
import type { Page, PageContext } from '../../kit/page.ts'
import { ago, type Html } from '../../kit/view.ts'

interface SigningKey {
  readonly id: string
  readonly algorithm: string
  readonly public_key: string
  readonly created_at: string
  readonly retired_at: string | null
  readonly follows: string | null
  readonly signs: boolean
}

/** The public halves of the keys that sign certificates, to be kept where Drover cannot change them. */
export const signingKeysPage = async ({ ask, nowMs }: PageContext): Promise<Page> => {
  const { items } = await ask<{ items: SigningKey[] }>('GET /v1/signing-keys')
  return {
    title: 'Signing keys',
    intro: html`<p>Each <a href="/certificates">certificate</a> names the key that signed it. Keep a copy of the keys where
Drover cannot change them: <code>npx drover verify &lt;file&gt; --key &lt;key file&gt;</code> then proves a certificate
without asking this installation.</p>`,
    wakesOn: (event) => event.type === 'entry.verified' || event.type === 'signing-key.rotated',
    parts: [
      {
        id: 'keys',
        html:
          items.length === 0
            ? html`<p class="empty">None yet: the first certificate makes it.</p>`
            : html`<ul class="findings">${items.map((key) => keyHtml(key, nowMs))}</ul>
<p class="dim">The same for programs: <a href="/v1/signing-keys">/v1/signing-keys</a></p>`,
      },
    ],
  }
}

const keyHtml = (
  { id, algorithm, public_key: pem, created_at: at, retired_at: end, follows, signs }: SigningKey,
  nowMs: number,
): Html =>
  html`<li data-key="${id}" id="key-${id}"><p class="finding-head"><strong class="fingerprint"><code>${id}</code></strong>
<span class="dim">${algorithm}${signs ? ', signs now' : ''}, made ${ago(at, nowMs)}${end === null ? '' : html`, retired ${ago(end, nowMs)}`}${follows === null ? '' : html`, vouched for by ${follows}`}</span></p>
<pre tabindex="0" role="region" aria-label="Public key ${id}">${pem.trim()}</pre></li>`

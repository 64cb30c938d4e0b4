import { html } from 'hono/html'
import { uuidKey } from '../../../api/wire/page.ts'
import { notFound } from '../../../api/wire/problem.ts'
import type { CertificateDocument } from '../../../certificate/document.ts'
import { bytes } from '../../../domain/text/bytes.ts'
import type { Page, PageContext } from '../../kit/page.ts'
import { outside, visible } from '../../kit/shown.ts'
import { ago, definition, type Html, table } from '../../kit/view.ts'

/** One certificate, in words: what was compared, what was asked, what came of it. */
export const certificatePage = async ({ ask, params, nowMs }: PageContext): Promise<Page> => {
  const id = params.id ?? ''
  if (!uuidKey.test(id)) throw notFound('certificate', id.slice(0, 60))
  const { certificate } = await ask<{ certificate: CertificateDocument }>(`GET /v1/certificates/${id}`)
  return {
    title: `Certificate of ${visible(certificate.instance.name)}`,
    wakesOn: () => false,
    parts: [
      { id: 'state', html: standingHtml(certificate, nowMs) },
      { id: 'checks', title: 'What was asked', html: checksHtml(certificate) },
      { id: 'disks', title: 'Its disks, byte by byte', html: disksHtml(certificate) },
      { id: 'facts', title: 'Facts', html: factsHtml(certificate, nowMs) },
    ],
  }
}

const standingHtml = (
  certificate: CertificateDocument,
  nowMs: number,
): Html => html`<div class="card is-succeeded">
<p>${outside(certificate.instance.name)} on <a href="/targets/${certificate.target.name}">${certificate.target.name}</a> is what it was on
<a href="/sources/${certificate.source.name}">${certificate.source.name}</a>: verified ${ago(certificate.verified_at, nowMs)}.</p>
${certificate.forced ? html`<p><strong>By force:</strong> ${certificate.ignored.map(({ message }) => visible(message)).join(' ')}</p>` : ''}
<p><a class="action" href="/v1/certificates/${certificate.id}">Download it</a>, then
<code>npx drover verify certificate-${certificate.id}.json</code> checks it, also without this installation.</p></div>`

const results: Readonly<Record<string, readonly [word: string, look: string]>> = {
  passed: ['passed', 'fit'],
  failed: ['failed', 'blocked'],
  differs: ['differs', 'wary'],
  'not-asked': ['not asked', 'unknown'],
}

const checksHtml = ({ checks }: CertificateDocument): Html =>
  table({
    label: 'Checks',
    head: ['Check', 'Result', 'Before', 'Now'],
    empty: '',
    rows: checks.map(({ name, expected, observed, result, probes = [] }) => {
      const [word, look] = results[result] ?? [result, 'unknown']
      return html`<tr data-key="${name}"><th scope="row" class="long">${visible([name, ...probes.map((probe) => `(${probe})`)].join(' '))}</th><td class="nowrap"><span class="badge is-${look}">${word}</span></td>
<td class="long">${visible(expected)}</td><td class="long">${visible(observed)}</td></tr>`
    }),
  })

const disksHtml = ({ disks }: CertificateDocument): Html =>
  table({
    label: 'Disks',
    head: ['Disk', 'Size', 'Extents', 'Copied', 'Digest of source and target'],
    empty: 'It has none.',
    rows: disks.map(
      (
        disk,
      ) => html`<tr data-key="${disk.disk}"><th scope="row">${visible(disk.label || disk.disk)}</th><td class="nowrap">${bytes(disk.capacity)}</td>
<td class="count">${disk.extents}</td><td class="count">${disk.copied}</td>
<td class="long"><code>${disk.source_digest}</code>${disk.source_digest === disk.target_digest ? ', the same on both' : html`, on the target <code>${disk.target_digest}</code>`}</td></tr>`,
    ),
  })

const factsHtml = (certificate: CertificateDocument, nowMs: number): Html =>
  definition([
    ['Batch', html`<a href="/batches/${certificate.batch}">${certificate.batch}</a>`],
    [
      'Machine',
      html`<a href="/instances/${certificate.instance.id}">${outside(certificate.instance.name)}</a>`,
    ],
    ['Its UUID', visible(certificate.instance.uuid)],
    [
      'On the target',
      html`${outside(certificate.target.machine_name)} (<code>${visible(certificate.target.machine)}</code>)`,
    ],
    ['Source asked to go off', ago(certificate.source_stopped_at, nowMs)],
    ['Source seen off', ago(certificate.source_off_at ?? null, nowMs)],
    [
      'Signed with',
      html`<a href="/signing-keys#key-${certificate.key_id}"><code>${certificate.key_id}</code></a>`,
    ],
    ['By', visible(certificate.by)],
  ])

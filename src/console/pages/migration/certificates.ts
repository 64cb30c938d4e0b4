import { html } from 'hono/html'
import type { CertificateSummary } from '../../../api/resources/migration/certificates.ts'
import { listPage } from '../../kit/list-page.ts'
import { emptyText } from '../../kit/pager.ts'
import { outside } from '../../kit/shown.ts'
import { ago, table } from '../../kit/view.ts'

/** The evidence for every machine that has arrived. */
export const certificatesPage = listPage<CertificateSummary>({
  title: 'Certificates',
  from: '/v1/certificates',
  asks: ['batch'],
  part: 'certificates',
  intro: ({
    query,
  }) => html`<p>Each says that a machine on its target is what it was at its source, byte by byte, and that it came up
as it was before. <code>npx drover verify &lt;file&gt;</code> checks one without asking anybody.
<a class="action" href="/signing-keys">The signing keys</a></p>
<form class="filter" method="get" action="/certificates" role="search"><div><label for="f-batch">Batch</label>
<input id="f-batch" name="batch" value="${query.get('batch') ?? ''}" maxlength="63" autocomplete="off"></div><button type="submit">Filter</button></form>`,
  wakesOn: (event) => event.type === 'entry.verified',
  list: (lines, { nowMs, query }) =>
    table({
      label: 'Certificates',
      head: ['Machine', 'Batch', 'Signed', 'Key', 'Download'],
      empty: emptyText(query, 'No machine has arrived yet.'),
      rows: lines.map(
        (
          line,
        ) => html`<tr data-key="${line.id}"><th scope="row" class="long"><a href="/certificates/${line.id}">${outside(line.name)}</a></th>
<td class="nowrap"><a href="/batches/${line.batch}">${line.batch}</a></td><td class="nowrap">${ago(line.created_at, nowMs)}</td>
<td class="nowrap"><a href="/signing-keys#key-${line.key_id}"><code>${line.key_id.slice(0, 16)}</code></a></td>
<td><a href="/v1/certificates/${line.id}">file<span class="sr"> of ${outside(line.name)}</span></a></td></tr>`,
      ),
    }),
})

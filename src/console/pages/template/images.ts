import { html } from 'hono/html'
import type { ImageSummary } from '../../../api/resources/template/image-view.ts'
import { imageStates } from '../../../domain/template/image.ts'
import { bytes } from '../../../domain/text/bytes.ts'
import { listPage } from '../../kit/list-page.ts'
import { emptyText } from '../../kit/pager.ts'
import { visible } from '../../kit/shown.ts'
import { ago, type Html, jobProgress, table } from '../../kit/view.ts'
import { imageBadge, imageLink, isAboutTemplates, templateLink } from './template-shown.ts'

const listed = (items: readonly Html[]): Html =>
  html`${items.map((item, at) => html`${at === 0 ? '' : ', '}${item}`)}`

const row = (image: ImageSummary, nowMs: number): Html => html`<tr data-key="${image.id}">
<th scope="row" class="long">${imageLink(image)}</th>
<td class="nowrap">${imageBadge(image.state)}${image.state === 'importing' ? html` ${jobProgress(image.progress)}` : ''}</td>
<td class="nowrap">${image.size_bytes === null ? '' : bytes(image.size_bytes)}</td>
<td class="long">${visible([image.facts?.product, image.facts?.version].filter(Boolean).join(' '))}</td>
<td class="nowrap">${image.verified ?? ''}</td>
<td class="long">${listed(image.targets.map((name) => html`<a href="/targets/${name}">${name}</a>`))}</td>
<td class="long">${listed(image.templates.map(templateLink))}</td><td class="nowrap">${ago(image.created_at, nowMs)}</td></tr>`

/** The list of images. */
export const imagesPage = listPage<ImageSummary>({
  title: 'Images',
  from: '/v1/images',
  asks: ['target', 'state', 'name'],
  part: 'images',
  intro: ({
    query,
  }) => html`<p>What OVA files hold. An image never changes; <a href="/templates">templates</a> point at images.
<code>drover images import</code> brings one in.</p>
<form class="filter" method="get" action="/images" role="search">
<div><label for="f-name">Name has</label><input id="f-name" name="name" value="${query.get('name') ?? ''}" maxlength="63" autocomplete="off"></div>
<div><label for="f-target">Target</label><input id="f-target" name="target" value="${query.get('target') ?? ''}" maxlength="63" autocomplete="off"></div>
<div><label for="f-state">State</label><select id="f-state" name="state"><option value="">any but deleted</option>
${imageStates.map((state) => html`<option value="${state}"${state === query.get('state') ? html` selected` : ''}>${state}</option>`)}</select></div>
<button type="submit">Filter</button></form>`,
  wakesOn: isAboutTemplates,
  list: (items, { nowMs, query }) =>
    table({
      label: 'Images',
      head: ['Name', 'State', 'Size', 'Product', 'Vouched for by', 'Targets', 'Wanted by', 'Created'],
      empty: emptyText(query, 'There is no image yet.'),
      rows: items.map((image) => row(image, nowMs)),
    }),
})

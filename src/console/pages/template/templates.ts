import { html } from 'hono/html'
import type { TemplateView } from '../../../api/resources/template/template-view.ts'
import { templateStates } from '../../../domain/template/state.ts'
import { listPage } from '../../kit/list-page.ts'
import { emptyText } from '../../kit/pager.ts'
import { outside, visible } from '../../kit/shown.ts'
import { ago, type Html, table } from '../../kit/view.ts'
import { imageLink, isAboutTemplates, templateBadge, templateLink } from './template-shown.ts'

const isThere = (template: TemplateView): boolean => template.version_live === template.version_wanted

const row = (template: TemplateView, nowMs: number): Html => html`<tr data-key="${template.id}">
<th scope="row" class="long">${templateLink(template.name)}</th>
<td class="nowrap"><a href="/targets/${template.target}">${template.target}</a></td><td class="long">${outside(template.folder)}</td>
<td class="nowrap">${templateBadge(template.state)}</td>
<td class="long">${template.image_live === null ? html`<span class="dim">nothing yet</span>` : visible(template.image_live)}</td>
<td class="long">${isThere(template) ? '' : imageLink({ id: template.image_id, name: template.image })}</td>
<td class="long">${visible(template.message)}</td><td class="nowrap">${ago(template.updated_at, nowMs)}</td></tr>`

/** The list of templates. */
export const templatesPage = listPage<TemplateView>({
  title: 'Templates',
  from: '/v1/templates',
  asks: ['target', 'state', 'image'],
  part: 'templates',
  intro: ({
    query,
  }) => html`<p>A name on a target that machines are cloned from. Another <a href="/images">image</a> is brought in beside
the one it points at, and takes its name by two renames. <code>drover templates add</code> makes one.</p>
<form class="filter" method="get" action="/templates" role="search">
<div><label for="f-target">Target</label><input id="f-target" name="target" value="${query.get('target') ?? ''}" maxlength="63" autocomplete="off"></div>
<div><label for="f-image">Wants the image</label><input id="f-image" name="image" value="${query.get('image') ?? ''}" maxlength="63" autocomplete="off"></div>
<div><label for="f-state">State</label><select id="f-state" name="state"><option value="">any</option>
${templateStates.map((state) => html`<option value="${state}"${state === query.get('state') ? html` selected` : ''}>${state}</option>`)}</select></div>
<button type="submit">Filter</button></form>`,
  wakesOn: isAboutTemplates,
  list: (items, { nowMs, query }) =>
    table({
      label: 'Templates',
      head: ['Name', 'Target', 'Folder', 'State', 'Points at', 'Wanted', 'Why', 'Changed'],
      empty: emptyText(query, 'There is no template yet.'),
      rows: items.map((template) => row(template, nowMs)),
    }),
})

import { html } from 'hono/html'
import type { ImageView } from '../../../api/resources/template/image-view.ts'
import { uuidKey } from '../../../api/wire/page.ts'
import { notFound } from '../../../api/wire/problem.ts'
import { bytes } from '../../../domain/text/bytes.ts'
import type { Page, PageContext } from '../../kit/page.ts'
import { outside, visible } from '../../kit/shown.ts'
import { ago, definition, type Html, jobLink, jobProgress, table } from '../../kit/view.ts'
import { imageBadge, imageLook, isAboutTemplates, templateLink } from './template-shown.ts'

/** An image: its content, its copies and the templates that use it. */
export const imagePage = async ({ ask, params, nowMs }: PageContext): Promise<Page> => {
  const id = params.id ?? ''
  if (!uuidKey.test(id)) throw notFound('image', id.slice(0, 60))
  const image = await ask<ImageView>(`GET /v1/images/${id}`)
  return {
    title: visible(image.name),
    announce: `It is ${image.state}.`,
    wakesOn: isAboutTemplates,
    parts: [
      { id: 'state', html: stateHtml(image) },
      { id: 'copies', title: 'Copies', html: copiesHtml(image, nowMs) },
      { id: 'uses', title: 'Used by', html: usesHtml(image) },
      { id: 'facts', title: 'Facts', html: factsHtml(image, nowMs) },
    ],
  }
}

const stateHtml = (image: ImageView): Html => html`<div class="card is-${imageLook(image.state)}">
<p class="state-line">${imageBadge(image.state)}${image.state === 'importing' ? html` ${jobProgress(image.progress)}` : ''}</p>
${
  image.error === null
    ? ''
    : html`<p class="problem">${visible(image.error.message)}</p><p><strong>What to do:</strong> ${visible(image.error.remedy)}</p>`
}</div>`

const copiesHtml = ({ replicas }: ImageView, nowMs: number): Html =>
  table({
    label: 'Copies',
    head: ['Target', 'Folder', 'State', 'Of', 'Its id there', 'Made'],
    empty: 'No target has a copy of it.',
    rows: replicas.map(
      (
        replica,
      ) => html`<tr data-key="${replica.id}"><th scope="row"><a href="/targets/${replica.target}">${replica.target}</a></th>
<td class="long">${outside(replica.folder)}</td><td class="nowrap">${replica.state}</td>
<td class="long">${replica.template === null ? html`<span class="dim">the shelf</span>` : templateLink(replica.template)}</td>
<td class="long">${replica.ref === null ? '' : html`<code>${visible(replica.ref)}</code>`}</td>
<td class="nowrap">${ago(replica.created_at, nowMs)}</td></tr>`,
    ),
  })

const words = {
  live: 'points at it',
  wants: 'is to point at it',
  keeps: 'keeps it',
  holds: 'still has it',
} as const

const usesHtml = ({ used_by: uses }: ImageView): Html =>
  uses.length === 0
    ? html`<p class="empty">No template uses it: it can be deleted.</p>`
    : html`<ul>${uses.map(
        ({ template, use, version }) =>
          html`<li>${templateLink(template)} ${words[use]}${version === null ? '' : `, version ${version}`}</li>`,
      )}</ul>`

const factsHtml = (image: ImageView, nowMs: number): Html => {
  const { facts } = image
  return definition([
    ['From', visible(image.source.url ?? image.source.path ?? '')],
    ['Digest', image.digest === null ? 'not read yet' : html`<code>${image.digest}</code>`],
    ['Size', image.size_bytes === null ? 'not read yet' : bytes(image.size_bytes)],
    ['Vouched for by', image.verified ?? 'not read yet'],
    ...(facts === null
      ? []
      : ([
          ['Product', visible(`${facts.product} ${facts.version}`.trim()) || 'not named'],
          ['Vendor', visible(facts.vendor)],
          ['Machine', visible(`${facts.cpus} cpus, ${bytes(facts.memory)}, ${facts.firmware}, ${facts.os}`)],
          ['Disks', visible(facts.disks.map((disk) => `${disk.id}: ${bytes(disk.capacity)}`).join(', '))],
          ['Networks', visible(facts.networks.join(', '))],
        ] as const)),
    ['Job', image.job_id === null ? 'none' : jobLink(image.job_id)],
    ['Created', html`${ago(image.created_at, nowMs)} by ${visible(image.created_by)}`],
  ])
}

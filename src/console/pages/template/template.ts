import { html } from 'hono/html'
import type { ImageSummary } from '../../../api/resources/template/image-view.ts'
import type { TemplatePlan } from '../../../api/resources/template/template-verbs.ts'
import type { TemplateView, VersionView } from '../../../api/resources/template/template-view.ts'
import { nameKey } from '../../../api/wire/page.ts'
import { notFound } from '../../../api/wire/problem.ts'
import { bytes } from '../../../domain/text/bytes.ts'
import { type FormState, refusalBox, refusedForm } from '../../kit/form.ts'
import { mayOperate, type Page, type PageContext } from '../../kit/page.ts'
import { outside, visible } from '../../kit/shown.ts'
import { ago, button, definition, duration, type Html, jobLink, jobProgress, table } from '../../kit/view.ts'
import { imageLink, isAboutTemplates, templateBadge, templateLook } from './template-shown.ts'

const shown = '50'

/** A template: the live and the wanted image, its versions, and the plan of an update. */
export const templatePage = async (context: PageContext): Promise<Page> => {
  const { ask, params, query, nowMs } = context
  const name = params.name ?? ''
  if (!nameKey.test(name)) throw notFound('template', name.slice(0, 60))
  const template = await ask<TemplateView>(`GET /v1/templates/${name}`)
  const operates = mayOperate(context)
  const [versions, images, plan] = await Promise.all([
    ask<{ items: readonly VersionView[] }>(`GET /v1/templates/${name}/versions?limit=${shown}`),
    operates ? ask<{ items: readonly ImageSummary[] }>('GET /v1/images?state=ready&limit=200') : undefined,
    operates ? planFor(context, name, query.get('image')) : undefined,
  ])
  return {
    title: visible(template.name),
    announce: `It is ${template.state}. ${visible(template.message)}`,
    wakesOn: isAboutTemplates,
    parts: [
      { id: 'state', html: stateHtml(template, operates) },
      ...(images ? [{ id: 'update', title: 'Update', html: updateHtml(template, images.items, plan) }] : []),
      {
        id: 'versions',
        title: 'Versions',
        html: versionsHtml(template, versions.items, { nowMs, operates }),
      },
      { id: 'facts', title: 'Facts', html: factsHtml(template, nowMs) },
    ],
  }
}

/** The plan of an update to the chosen image; undefined: no image is chosen. */
const planFor = async (
  { ask }: PageContext,
  name: string,
  image: string | null,
): Promise<TemplatePlan | FormState | undefined> =>
  image === null || image === ''
    ? undefined
    : ask<TemplatePlan>(`POST /v1/templates/${name}/:plan`, { body: { image } }).catch((error: unknown) =>
        refusedForm(error, {}),
      )

const stateHtml = (template: TemplateView, operates: boolean): Html => {
  const { name, state, message, error, version_live: live, version_wanted: wanted } = template
  return html`<div class="card is-${templateLook(state)}">
<p class="state-line">${templateBadge(state)} ${visible(message)}${template.progress === null ? '' : html` ${jobProgress(template.progress)}`}</p>
<p>${live === null ? 'It points at nothing yet.' : html`It points at <strong>${visible(template.image_live ?? '')}</strong> (version ${live}).`}
${live === wanted ? '' : html`Wanted: ${imageLink({ id: template.image_id, name: template.image })} (version ${wanted}).`}</p>
${error === null ? '' : html`<p><strong>What to do:</strong> ${visible(error.remedy)}</p>`}
${operates ? html`<div class="buttons">${button({ action: `/templates/${name}/recover`, text: 'Look again' })}</div>` : ''}</div>`
}

const updateHtml = (
  { name }: TemplateView,
  images: readonly ImageSummary[],
  plan: TemplatePlan | FormState | undefined,
): Html => {
  const chosen = plan !== undefined && 'steps' in plan ? plan.image : ''
  return html`<form class="filter" method="get" action="/templates/${name}"><div><label for="f-image">To the image</label>
<select id="f-image" name="image">${images.map(
    (image) =>
      html`<option value="${image.name}"${image.name === chosen ? html` selected` : ''}>${visible(image.name)}</option>`,
  )}</select></div><button type="submit">What would be done</button></form>
${plan === undefined ? '' : 'steps' in plan ? planHtml(name, plan) : refusalBox(plan, 'This cannot be planned.')}`
}

const planHtml = (name: string, { image, steps, bytes: sent, refused }: TemplatePlan): Html => {
  if (refused)
    return html`<p class="problem">It would be refused: ${visible(refused.message)}</p><p><strong>What to do:</strong> ${visible(refused.remedy)}</p>`
  const taken = steps.filter(({ step }) => step !== 'done')
  if (taken.length === 0) return html`<p class="empty">It points at ${visible(image)} already.</p>`
  return html`<ol>${taken.map(({ step, says }) => html`<li><strong>${step}</strong>: ${says}</li>`)}</ol>
<p>${sent === 0 ? 'Nothing is uploaded.' : sent === null ? 'All of the image is uploaded.' : `${bytes(sent)} are uploaded.`}</p>
<form method="post" action="/templates/${name}/update" class="verb"><input type="hidden" name="image" value="${image}">
<button type="submit">Update to ${visible(image)}</button></form>`
}

const took = (ms: number | null): string => (ms === null ? '' : ms < 1_000 ? `${ms} ms` : duration(ms))

const backForm = (name: string, { number }: VersionView): Html =>
  html`<form method="post" action="/templates/${name}/rollback" class="verb"><input type="hidden" name="version" value="${number}">
<button type="submit">Roll back<span class="sr"> to version ${number}</span></button></form>`

const versionsHtml = (
  template: TemplateView,
  versions: readonly VersionView[],
  { nowMs, operates }: { readonly nowMs: number; readonly operates: boolean },
): Html =>
  table({
    label: 'Versions',
    head: ['Version', 'Image', 'State', 'Asked', 'By', 'Live', 'Took', 'Gap', ...(operates ? ['Do'] : [])],
    empty: 'It has no versions.',
    rows: versions.map((version) => {
      const isBehind = version.state === 'kept' || version.state === 'gone'
      return html`<tr data-key="${version.number}"><th scope="row">${version.number}</th>
<td class="long">${imageLink({ id: version.image_id, name: version.image })}${version.image_version === null ? '' : html` <span class="dim">${visible(version.image_version)}</span>`}</td>
<td class="long">${version.state}${version.error === null ? '' : html`<br><span class="dim">${visible(version.error.message)}</span>`}</td>
<td class="nowrap">${ago(version.asked_at, nowMs)}</td><td class="long">${visible(version.by)} <span class="dim">(${version.cause})</span></td>
<td class="nowrap">${ago(version.live_at, nowMs)}</td><td class="nowrap">${took(version.swap_ms)}</td><td class="nowrap">${took(version.gap_ms)}</td>
${operates ? html`<td>${isBehind ? backForm(template.name, version) : ''}</td>` : ''}</tr>`
    }),
  })

const factsHtml = (template: TemplateView, nowMs: number): Html =>
  definition([
    ['On', html`<a href="/targets/${template.target}">${template.target}</a>`],
    ['Folder', outside(template.folder)],
    ['Called there', html`<code>${visible(template.production)}</code>`],
    [
      'New objects',
      visible(
        [template.project, template.pool, template.host, template.network].filter(Boolean).join(', '),
      ) || 'where the platform puts them',
    ],
    [
      'Keeps',
      `${template.keep_versions} versions; others go after ${duration(template.grace_seconds * 1_000)}`,
    ],
    ['Older versions', template.allow_downgrade ? 'may be updated to' : 'by rollback alone'],
    ['Job', template.job_id === null ? 'none yet' : jobLink(template.job_id)],
    ['Created', html`${ago(template.created_at, nowMs)} by ${visible(template.created_by)}`],
  ])

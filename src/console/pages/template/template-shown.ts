import { html } from 'hono/html'
import type { ImageView } from '../../../api/resources/template/image-view.ts'
import type { TemplateView } from '../../../api/resources/template/template-view.ts'
import { visible } from '../../kit/shown.ts'
import type { Html } from '../../kit/view.ts'

/** Whether an event is about an image, a template or one of their jobs. */
export const isAboutTemplates = (event: {
  readonly type: string
  readonly subject: { readonly type: string }
}): boolean => event.subject.type === 'template' || event.subject.type === 'image'

const templateLooks: Readonly<Record<TemplateView['state'], string>> = {
  absent: 'unknown',
  swapping: 'running',
  live: 'fit',
  conflict: 'blocked',
}

const imageLooks: Readonly<Record<ImageView['state'], string>> = {
  importing: 'running',
  ready: 'fit',
  failed: 'failed',
  deleted: 'off',
}

/** The style of a card's edge. */
export const templateLook = (state: TemplateView['state']): string => templateLooks[state]
export const imageLook = (state: ImageView['state']): string => imageLooks[state]

export const templateBadge = (state: TemplateView['state']): Html =>
  html`<span class="badge is-${templateLooks[state]}">${state}</span>`

export const imageBadge = (state: ImageView['state']): Html =>
  html`<span class="badge is-${imageLooks[state]}">${state}</span>`

export const templateLink = (name: string): Html => html`<a href="/templates/${name}">${visible(name)}</a>`

export const imageLink = ({ id, name }: { readonly id: string; readonly name: string }): Html =>
  html`<a href="/images/${id}">${visible(name)}</a>`

import { html } from 'hono/html'
import type { WarningView } from '../../../api/resources/inventory/warnings.ts'
import { mayOperate, type PageContext } from '../../kit/page.ts'
import { outside, visible } from '../../kit/shown.ts'
import { ago, button, type Html } from '../../kit/view.ts'

const messagesShown = 5

/** Where the thing that a warning is about is shown; undefined where it has no page. */
const entityPath = ({ type, id, name }: WarningView['entity']): string | undefined => {
  if (type === 'source' || type === 'target') return `/${type}s/${encodeURIComponent(name)}`
  return type === 'instance' || type === 'network' ? `/${type}s/${encodeURIComponent(id)}` : undefined
}

/** Warnings with what they are about, and a button for who may say that they have read one. */
export const warningList = (context: PageContext, warnings: readonly WarningView[]): Html =>
  html`<ul class="findings">${warnings.map((warning) => warningItem(context, warning))}</ul>`

const warningItem = (context: PageContext, warning: WarningView): Html => {
  const { entity, messages } = warning
  const path = entityPath(entity)
  const name = outside(entity.name)
  const more = messages.length - messagesShown
  return html`<li data-key="${warning.id}"${warning.status === 'acknowledged' ? html` class="settled"` : ''}>
<p class="finding-head"><strong>${warning.type.replaceAll('-', ' ')}</strong>
<span>${entity.type} ${path === undefined ? name : html`<a href="${path}">${name}</a>`}</span>
<span class="dim">seen ${warning.count} times, last ${ago(warning.last_seen_at, context.nowMs)}, first ${ago(warning.first_seen_at, context.nowMs)}</span></p>
<ul class="evidence">${messages.slice(0, messagesShown).map(({ text }) => html`<li>${visible(text)}</li>`)}
${more > 0 ? html`<li class="dim">and ${more} more</li>` : ''}</ul>
${warning.status === 'acknowledged' ? html`<p class="dim">Read by ${visible(warning.acknowledged_by ?? 'somebody')}.</p>` : ''}
${mayOperate(context) ? verbOf(context, warning) : ''}</li>`
}

const verbOf = ({ path, query }: PageContext, warning: WarningView): Html => {
  const verb = warning.status === 'new' ? 'acknowledge' : 'reopen'
  return button({
    action: `/warnings/${warning.id}/${verb}`,
    text: verb === 'acknowledge' ? 'I have read it' : 'Make it new again',
    about: `${warning.type} of ${visible(warning.entity.name)}`,
    back: query.size > 0 ? `${path}?${query}` : path,
  })
}

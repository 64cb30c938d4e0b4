import { html } from 'hono/html'
import type { WarningView } from '../../../api/resources/inventory/warnings.ts'
import { listPage } from '../../kit/list-page.ts'
import { emptyText } from '../../kit/pager.ts'
import { tabs } from '../../kit/view.ts'
import { warningList } from './warning-list.ts'

const choices: readonly (readonly [value: string, name: string])[] = [
  ['', 'New'],
  ['acknowledged', 'Read'],
  ['any', 'All'],
]

/** What somebody should know about sources, targets and their machines. Repeats are one; what heals goes by itself. */
export const warningsPage = listPage<WarningView>({
  title: 'Warnings',
  from: '/v1/warnings',
  asks: ['type', 'entity'],
  sets: ({ query }) => {
    const asked = query.get('status') || 'new'
    return { status: asked === 'any' ? undefined : asked }
  },
  part: 'warnings',
  intro: ({
    query,
  }) => html`<p>What the platforms say and somebody should know. A warning goes by itself when its cause is gone.</p>
${tabs({ label: 'Which warnings', path: '/warnings', query, name: 'status', choices })}`,
  wakesOn: (event) => event.type.startsWith('warning.'),
  list: (warnings, context) =>
    warnings.length === 0
      ? html`<p class="empty">${emptyText(context.query, 'There is no new warning.')}</p>`
      : warningList(context, warnings),
})

import { html } from 'hono/html'
import { withQuery } from '../ask.ts'
import type { Page, PageContext } from '../page.ts'
import { tabs } from '../view.ts'
import { pager } from './jobs.ts'
import { type WarningSeen, warningList } from './warning-list.ts'

const choices: readonly (readonly [value: string, name: string])[] = [
  ['', 'New'],
  ['acknowledged', 'Read'],
  ['any', 'All'],
]

/** What somebody should know about sources, targets and their machines. Repeats are one; what heals goes by itself. */
export const warningsPage = async (context: PageContext): Promise<Page> => {
  const { ask, query } = context
  const asked = query.get('status') ?? ''
  const status = asked === '' ? 'new' : asked === 'any' ? undefined : asked
  const address = withQuery('/v1/warnings', {
    status,
    type: query.get('type'),
    entity: query.get('entity'),
    cursor: query.get('cursor'),
  })
  const page = await ask<{ items: WarningSeen[]; next_cursor: string | null }>(`GET ${address}`)
  return {
    title: 'Warnings',
    intro: html`<p>What the platforms say and somebody should know. A warning goes by itself when its cause is gone.</p>
${tabs({ label: 'Which warnings', path: '/warnings', query, name: 'status', choices })}`,
    wakesOn: (event) => event.type.startsWith('warning.'),
    parts: [
      {
        id: 'warnings',
        html:
          page.items.length === 0
            ? html`<p class="empty">No warning.</p>`
            : html`${warningList(context, page.items)}${pager('/warnings', query, page.next_cursor)}`,
      },
    ],
  }
}

import { html } from 'hono/html'
import { listEffects } from '../../../db/queries/list-effects.ts'
import { readCursor, toPage, uuidKey } from '../../api/page.ts'
import { problem } from '../../api/problem.ts'
import { effectStates } from '../../api/resources/effect-view.ts'
import { mayOperate, type Page, type PageContext } from '../page.ts'
import { tabs } from '../view.ts'
import { effectTable } from './effect-table.ts'
import { pager } from './jobs.ts'

const pageSize = 50

/** What Drover did outside the database. By default the residue: what is begun or must still be undone. */
export const effectsPage = async (context: PageContext): Promise<Page> => {
  const { deps, query, nowMs, path } = context
  const asked = query.get('state') || undefined
  if (asked !== undefined && asked !== 'any' && !(effectStates as readonly string[]).includes(asked))
    throw problem('validation-failed', `There is no state "${asked.slice(0, 40)}".`, { field: 'state' })
  const states = asked === undefined ? ['debt', 'intended'] : asked === 'any' ? undefined : [asked]
  const before = readCursor('effects', uuidKey, query.get('cursor') || undefined)
  const rows = await listEffects(deps.db, { states }, { before, limit: pageSize + 1 })
  const page = toPage(rows, { list: 'effects', limit: pageSize, key: (row) => row.id, item: (row) => row })
  const choices: readonly [string, string][] = [
    ['', 'Residue'],
    ...effectStates.map((state): [string, string] => [state, state]),
    ['any', 'All'],
  ]
  return {
    title: 'Effects',
    intro: html`<p>What Drover did outside its database. A debt must still be undone; it is tried again by itself.</p>
${tabs({ label: 'State of effects', path: '/effects', query, name: 'state', choices })}`,
    wakesOn: (event) => event.type.startsWith('effect.') || event.type.startsWith('job.'),
    parts: [
      {
        id: 'effects',
        html: html`${effectTable({
          label: 'Effects',
          effects: page.items,
          nowMs,
          empty: asked === undefined ? 'Nothing is left behind.' : 'No effect fits.',
          withJob: true,
          waiveBack: mayOperate(context) ? `${path}?${query}` : undefined,
        })}${pager('/effects', query, page.next_cursor)}`,
      },
    ],
  }
}

import { html } from 'hono/html'
import { type EffectView, effectStates } from '../../../api/resources/jobs/effect-view.ts'
import { listPage } from '../../kit/list-page.ts'
import { mayOperate } from '../../kit/page.ts'
import { tabs } from '../../kit/view.ts'
import { effectTable } from './effect-table.ts'

const choices: readonly (readonly [value: string, text: string])[] = [
  ['', 'Residue'],
  ...effectStates.map((state) => [state, state] as const),
  ['any', 'All'],
]

/** What Drover did outside the database. By default the residue: what is begun or must still be undone. */
export const effectsPage = listPage<EffectView>({
  title: 'Effects',
  from: '/v1/effects',
  sets: ({ query }) => {
    const asked = query.get('state') || 'debt,intended'
    return { state: asked === 'any' ? undefined : asked }
  },
  part: 'effects',
  intro: ({
    query,
  }) => html`<p>What Drover did outside its database. A debt must still be undone; it is tried again by itself.</p>
${tabs({ label: 'State of effects', path: '/effects', query, name: 'state', choices })}`,
  wakesOn: (event) => event.type.startsWith('effect.') || event.type.startsWith('job.'),
  list: (effects, context) =>
    effectTable({
      label: 'Effects',
      effects,
      nowMs: context.nowMs,
      empty: context.query.get('state') ? 'No effect fits.' : 'Nothing is left behind.',
      withJob: true,
      waiveBack: mayOperate(context) ? `${context.path}?${context.query}` : undefined,
    }),
})

import type { Context, Hono } from 'hono'
import type { ApiEnv } from '../../api/http/env.ts'
import { requireRole } from '../../api/http/route.ts'
import { problem } from '../../api/wire/problem.ts'
import type { Ask } from '../kit/ask.ts'
import { type Button, buttons, requireSure } from '../kit/buttons.ts'
import { refusedForm, statusOf } from '../kit/form.ts'
import { back, fields, idOf, textOf, textsOf } from '../kit/form-request.ts'
import type { RenderPage } from '../kit/page.ts'
import { type ConsoleParts, contextOf, sendPage } from '../kit/serve-page.ts'
import { overridesOf, overridesPage } from '../pages/inventory/instance-overrides.ts'
import { networkPage } from '../pages/inventory/network.ts'

/** Does what a form asks; where the API refuses it for what was typed, the form comes back with that said. */
export const orFormAgain = async (
  c: Context<ApiEnv>,
  parts: ConsoleParts,
  asked: {
    readonly values: Record<string, string>
    readonly act: () => Promise<Response>
    readonly again: (state: ReturnType<typeof refusedForm>) => RenderPage
  },
): Promise<Response> => {
  try {
    return await asked.act()
  } catch (error) {
    const { password: _, ...shown } = asked.values
    const state = refusedForm(error, shown)
    return await sendPage(c, await asked.again(state)(contextOf(c, parts)), statusOf(error))
  }
}

/** The end of a day as people mean it, in the day's own UTC; nothing for nothing. */
const endOfDay = (text: string): string | null => {
  if (text === '') return null
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || Number.isNaN(Date.parse(text)))
    throw problem('validation-failed', 'That is no day.', { field: 'until' })
  return `${text}T23:59:59Z`
}

const list: readonly Button[] = [
  {
    at: '/instances/:id/power',
    asks: 'POST /v1/instances/{}/:power',
    body: (form) => {
      const verb = textOf(form, 'verb')
      // Of a form that is not ours, or of an older page: nothing goes off unasked.
      if (verb !== 'start') requireSure(form, 'this machine')
      return { verb }
    },
    says: 'power',
  },
  {
    at: '/instances/:id/waive',
    asks: 'POST /v1/waivers',
    body: (form, id) => ({
      rule: textOf(form, 'rule'),
      instance_id: id,
      reason: textOf(form, 'reason'),
      until: endOfDay(textOf(form, 'until')),
    }),
    says: 'rule-waived',
  },
  { at: '/waivers/:id/remove', asks: 'DELETE /v1/waivers/{}', says: 'rule-counts', to: '/assessment' },
  {
    at: '/warnings/:id/acknowledge',
    asks: 'POST /v1/warnings/{}/:acknowledge',
    says: 'acknowledged',
    to: '/warnings',
  },
  { at: '/warnings/:id/reopen', asks: 'POST /v1/warnings/{}/:reopen', says: 'reopened', to: '/warnings' },
]

/** What the buttons and forms about machines, networks, waivers and warnings do. */
export const inventoryVerbs = (parts: ConsoleParts): Hono<ApiEnv> => {
  const app = buttons(parts, list)
  const operator = requireRole('operator')
  const asking = (c: Context<ApiEnv>): Ask => parts.askAs(c.get('actor'))
  app.post('/instances/:id/overrides', operator, async (c) => {
    const id = idOf(c)
    const values = textsOf(await fields(c))
    return await orFormAgain(c, parts, {
      values,
      act: async () => {
        await asking(c)(`PUT /v1/instances/${id}/overrides`, {
          body: overridesOf(values),
          version: values.version ?? '',
        })
        return back(c, {}, `/instances/${id}`, 'saved')
      },
      again: overridesPage,
    })
  })
  app.post('/networks/:id', operator, async (c) => {
    const id = idOf(c)
    const { version = '', network, nictype, vlan_id: vlan } = textsOf(await fields(c))
    const given = { network, nictype, vlan_id: vlan }
    return await orFormAgain(c, parts, {
      values: { version, network: network ?? '', nictype: nictype ?? '', vlan_id: vlan ?? '' },
      act: async () => {
        const body = Object.fromEntries(Object.entries(given).filter(([, value]) => value))
        await asking(c)(`PUT /v1/networks/${id}/overrides`, { body, version })
        return back(c, {}, `/networks/${id}`, 'saved')
      },
      again: networkPage,
    })
  })
  return app
}

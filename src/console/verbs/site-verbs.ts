import type { Context, Hono } from 'hono'
import type { ApiEnv } from '../../api/http/env.ts'
import { requireRole } from '../../api/http/route.ts'
import { problem } from '../../api/wire/problem.ts'
import { type SiteRole, siteRoles } from '../../domain/inventory/site-settings.ts'
import { type Ask, withQuery } from '../kit/ask.ts'
import { type Button, buttons, nameOf } from '../kit/buttons.ts'
import { finishedShown } from '../kit/confirm-finished.ts'
import { back, type Fields, fields, textOf, textsOf } from '../kit/form-request.ts'
import type { ConsoleParts } from '../kit/serve-page.ts'
import { editSitePage, newSitePage, settingsOf } from '../pages/inventory/site-form.ts'
import { orFormAgain } from './inventory-verbs.ts'

/** A large inventory goes in parts; so many in one press of the button. */
const removalsMax = 25

/** The fingerprint that a person has compared with that of the platform itself. */
const comparedFingerprint = (form: Fields): string => {
  if (textOf(form, 'compared') === 'yes') return textOf(form, 'fingerprint')
  throw problem('validation-failed', 'Compare the fingerprint first, and say that you did.', {
    field: 'compared',
  })
}

const buttonsOf = (role: SiteRole): readonly Button[] => [
  { at: `/${role}s/:name/check`, asks: `POST /v1/${role}s/{}/:check`, says: 'checking' },
  {
    at: `/${role}s/:name/sync`,
    asks: `POST /v1/${role}s/{}/:sync`,
    body: () => ({ mode: 'delta' }),
    says: 'syncing',
  },
  {
    at: `/${role}s/:name/sync-all`,
    asks: `POST /v1/${role}s/{}/:sync`,
    body: () => ({ mode: 'full' }),
    says: 'syncing',
  },
  {
    at: `/${role}s/:name/confirm`,
    asks: `POST /v1/${role}s/{}/:confirm-fingerprint`,
    role: 'admin',
    body: (form) => ({ fingerprint: comparedFingerprint(form) }),
    says: 'confirmed',
  },
]

/** What the buttons and forms about sources and targets do. */
export const siteVerbs = (parts: ConsoleParts): Hono<ApiEnv> => {
  const app = buttons(parts, siteRoles.flatMap(buttonsOf))
  for (const role of siteRoles) addForms(app, parts, role)
  return app
}

const addForms = (app: Hono<ApiEnv>, parts: ConsoleParts, role: SiteRole): void => {
  const admin = requireRole('admin')
  const noun = `${role}s` as const
  const asking = (c: Context<ApiEnv>): Ask => parts.askAs(c.get('actor'))
  app.post(`/${noun}/:name/remove`, admin, async (c) => {
    const name = nameOf(c, role)
    const left = await removeSite(asking(c), `/v1/${noun}/${name}`, finishedShown(await fields(c)))
    return left === undefined
      ? back(c, {}, `/${noun}`, 'removed')
      : back(c, {}, `/${noun}/${name}/edit`, 'site-half-removed', left.instances_left)
  })
  app.post(`/add-${role}`, admin, async (c) => {
    const values = textsOf(await fields(c))
    return await orFormAgain(c, parts, {
      values,
      act: async () => {
        const { name = '', kind, endpoint, username, password, ca, fingerprint } = values
        const settings = settingsOf(values, role)
        const body = { name, kind, endpoint, username, password, ca, fingerprint, settings }
        await asking(c)(`POST /v1/${noun}`, { body })
        return back(c, {}, `/${noun}/${name}`, 'added')
      },
      again: (state) => newSitePage(role, state),
    })
  })
  app.post(`/${noun}/:name/edit`, admin, async (c) => {
    const name = nameOf(c, role)
    const values = textsOf(await fields(c))
    return await orFormAgain(c, parts, {
      values,
      act: async () => {
        const { version = '', endpoint, username, password, ca, fingerprint } = values
        const body = {
          endpoint,
          username,
          ca,
          fingerprint,
          settings: settingsOf(values, role),
          ...(password ? { password } : {}),
        }
        await asking(c)(`PATCH /v1/${noun}/${name}`, { body, version })
        return back(c, {}, `/${noun}/${name}`, 'saved')
      },
      again: (state) => editSitePage(role, state),
    })
  })
}

interface Left {
  readonly instances_left: number
}

/** Until nothing is left (undefined), or as far as one press goes: the next one goes on. */
const removeSite = async (
  ask: Ask,
  path: `/${string}`,
  confirmed: number | undefined,
): Promise<Left | undefined> => {
  const part = `DELETE ${withQuery(path, { confirm_finished: confirmed?.toString() })}` as const
  let left = await ask<Left | undefined>(part, { version: '*' })
  for (let rest = removalsMax; left !== undefined && rest > 1; rest -= 1)
    left = await ask<Left | undefined>(part, { version: '*' })
  return left
}

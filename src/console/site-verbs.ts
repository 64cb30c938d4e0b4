import { type Context, Hono } from 'hono'
import type { ApiEnv } from '../api/env.ts'
import { nameKey } from '../api/page.ts'
import { notFound, problem } from '../api/problem.ts'
import { requireRole } from '../api/route.ts'
import { type SiteRole, siteRoles } from '../domain/inventory/site-settings.ts'
import type { Ask } from './ask.ts'
import { back, fields, textOf, textsOf } from './form-request.ts'
import { orFormAgain } from './inventory-verbs.ts'
import { editSitePage, newSitePage, settingsOf } from './pages/site-form.ts'
import type { ConsoleParts } from './serve-page.ts'

/** A large inventory goes in parts; so many in one press of the button. */
const removalsMax = 25

const nameOf = (c: Context<ApiEnv>, role: SiteRole): string => {
  const name = c.req.param('name') ?? ''
  if (!nameKey.test(name)) throw notFound(role, name.slice(0, 60))
  return name
}

/** What the buttons and forms about sources and targets do. */
export const siteVerbs = (parts: ConsoleParts): Hono<ApiEnv> => {
  const app = new Hono<ApiEnv>()
  for (const role of siteRoles) addVerbs(app, parts, role)
  return app
}

const addVerbs = (app: Hono<ApiEnv>, parts: ConsoleParts, role: SiteRole): void => {
  const [operator, admin] = [requireRole('operator'), requireRole('admin')]
  const asking = (c: Context<ApiEnv>): Ask => parts.askAs(c.get('actor'))
  const noun = `${role}s` as const
  app.post(`/${noun}/:name/check`, operator, async (c) => {
    const name = nameOf(c, role)
    await asking(c)(`POST /v1/${noun}/${name}/:check`)
    return back(c, await fields(c), `/${noun}/${name}`, 'checking')
  })
  for (const [verb, mode] of [
    ['sync', 'delta'],
    ['sync-all', 'full'],
  ] as const)
    app.post(`/${noun}/:name/${verb}`, operator, async (c) => {
      const name = nameOf(c, role)
      await asking(c)(`POST /v1/${noun}/${name}/:sync`, { body: { mode } })
      return back(c, await fields(c), `/${noun}/${name}`, 'syncing')
    })
  app.post(`/${noun}/:name/confirm`, admin, async (c) => {
    const name = nameOf(c, role)
    const form = await fields(c)
    if (textOf(form, 'compared') !== 'yes')
      throw problem('validation-failed', 'Compare the fingerprint first, and say that you did.', {
        field: 'compared',
      })
    await asking(c)(`POST /v1/${noun}/${name}/:confirm-fingerprint`, {
      body: { fingerprint: textOf(form, 'fingerprint') },
    })
    return back(c, form, `/${noun}/${name}`, 'confirmed')
  })
  app.post(`/${noun}/:name/remove`, admin, async (c) => {
    await removeSite(asking(c), role, nameOf(c, role))
    return back(c, {}, `/${noun}`, 'removed')
  })
  addForms(app, parts, role)
}

const addForms = (app: Hono<ApiEnv>, parts: ConsoleParts, role: SiteRole): void => {
  const admin = requireRole('admin')
  const noun = `${role}s` as const
  const asking = (c: Context<ApiEnv>): Ask => parts.askAs(c.get('actor'))
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

/** Until nothing is left, or as far as one press goes: the next one goes on. */
const removeSite = async (ask: Ask, role: SiteRole, name: string): Promise<void> => {
  for (let round = 0; round < removalsMax; round += 1)
    if ((await ask<unknown>(`DELETE /v1/${role}s/${name}`, { version: '*' })) === undefined) return
}

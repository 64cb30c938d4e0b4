import { type Context, Hono } from 'hono'
import { localPath } from '../../api/access/login.ts'
import type { ApiEnv } from '../../api/http/env.ts'
import { printableHtml } from '../../print/printable.mjs'
import { refusedForm, statusOf } from '../kit/form.ts'
import { fields, textOf, textsOf } from '../kit/form-request.ts'
import type { InProcess } from '../kit/refusal.ts'
import { keepTyped } from './keep-typed.ts'

/**
 * The page on which something was asked, once more, with the refusal and its remedy on top and with what was typed: who
 * is refused loses nothing. What is no refusal that a person can mend is thrown on.
 */
export const createPageAgain = (
  addPages: (app: Hono<ApiEnv>) => void,
): ((error: unknown, c: Context<ApiEnv>) => Promise<Response>) => {
  const pages = new Hono<ApiEnv>()
  // What cannot be made is not the page that is looked for: see below.
  pages.onError((_, c) => c.body(null, 500))
  pages.use(async (c, next) => {
    c.set('actor', (c.env as unknown as InProcess).actor)
    await next()
  })
  addPages(pages)
  return async (error, c) => {
    if (!(c.req.header('accept') ?? '').includes('text/html')) throw error
    const asks = c.req.method === 'POST'
    const form = asks ? await fields(c) : {}
    const url = new URL(c.req.url)
    const values = asks ? textsOf(form) : Object.fromEntries(url.searchParams)
    const state = refusedForm(error, values)
    const status = statusOf(error)
    const env: InProcess = { actor: c.get('actor'), refusal: { state, status, did: asks ? 'ask' : 'show' } }
    for (const address of addressesOf(c, textOf(form, 'back'))) {
      const made = await pages.request(address, { headers: { accept: 'text/html' } }, env)
      if (made.status !== status) continue
      return c.html(printableHtml(keepTyped(await made.text(), url.pathname + url.search, values)), status)
    }
    throw error
  }
}

/** Where it may have been asked, the surest first; a page that cannot be made is passed over. */
const addressesOf = (c: Context<ApiEnv>, back: string): string[] => {
  const { pathname, search, host } = new URL(c.req.url)
  const referer = c.req.header('referer') ?? ''
  const from = URL.canParse(referer) ? new URL(referer) : undefined
  const parts = pathname.split('/').slice(1)
  const parents = parts.map((_, at) => `/${parts.slice(0, parts.length - 1 - at).join('/')}`)
  const own = c.req.method === 'POST' ? [pathname + search] : []
  return [
    ...own,
    ...(back === '' ? [] : [localPath(back)]),
    ...(from?.host === host && from.pathname !== pathname ? [localPath(from.pathname + from.search)] : []),
    ...parents,
  ]
}

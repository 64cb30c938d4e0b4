import type { Context } from 'hono'
import { localPath } from '../../api/access/login.ts'
import type { ApiEnv } from '../../api/http/env.ts'
import { uuidKey } from '../../api/wire/page.ts'
import { notFound, problem } from '../../api/wire/problem.ts'

export type Fields = Readonly<Record<string, string | File | (string | File)[]>>

const formType = /^(application\/x-www-form-urlencoded|multipart\/form-data)/i

/** What a form of ours sent. */
export const fields = async (c: Context<ApiEnv>): Promise<Fields> => {
  const type = c.req.header('content-type') ?? ''
  // A form without fields has a body of nothing, and some browsers then name no type.
  if (type === '') return {}
  if (!formType.test(type)) throw problem('media-type', 'The buttons of the console send forms.')
  return await c.req.parseBody({ all: true })
}

export const textOf = (form: Fields, name: string): string => {
  const value = form[name]
  return typeof value === 'string' ? value.trim() : ''
}

/** All texts of a form, for showing it again. */
export const textsOf = (form: Fields): Record<string, string> =>
  Object.fromEntries(Object.keys(form).map((name) => [name, textOf(form, name)]))

export const idOf = (c: Context<ApiEnv>): string => {
  const id = c.req.param('id') ?? ''
  if (!uuidKey.test(id)) throw notFound('thing', id.slice(0, 60))
  return id
}

/** Back to the page with the button, which then says what happened; a reload does nothing twice. */
export const back = (
  c: Context<ApiEnv>,
  form: Fields,
  fallback: string,
  notice: string,
  count?: number,
): Response => {
  const asked = textOf(form, 'back')
  const url = new URL(localPath(asked === '' ? fallback : asked), 'http://drover.invalid')
  url.searchParams.set('notice', notice)
  if (count !== undefined) url.searchParams.set('count', String(count))
  return c.redirect(url.pathname + url.search, 303)
}

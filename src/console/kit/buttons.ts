import { type Context, Hono } from 'hono'
import type { ApiEnv } from '../../api/http/env.ts'
import { requireRole } from '../../api/http/route.ts'
import { nameKey } from '../../api/wire/page.ts'
import { notFound, problem } from '../../api/wire/problem.ts'
import { DroverError } from '../../errors.ts'
import { back, type Fields, fields, idOf, textOf } from './form-request.ts'
import type { ConsoleParts } from './serve-page.ts'

/** A button of a page: what it asks of the API, and what the page says then. */
export interface Button {
  /** Where its form is sent. `:id` or `:name` says what it is about. */
  readonly at: `/${string}`
  /** `{}` stands for what the address names. */
  readonly asks: `${'POST' | 'DELETE'} /v1/${string}` | ((form: Fields) => `DELETE /v1/${string}`)
  /** The notice of what was done; a function where the answer decides it. */
  readonly says: string | ((answer: never) => string)
  /** `operator` unless it says otherwise. */
  readonly role?: 'admin'
  readonly body?: (form: Fields, key: string) => unknown
  /** Whatever was read of it: there is nothing to overwrite. */
  readonly anyVersion?: boolean
  /** What the person has to say first that they mean. */
  readonly sure?: string
  /** Where to go on; the page of what it is about unless it says otherwise. */
  readonly to?: `/${string}`
  /** Refusals that the page says as a notice: somebody was faster than who pressed. By code. */
  readonly refusals?: Readonly<Record<string, string>>
}

/** The name in an address; one that can be none is not there. */
export const nameOf = (c: Context<ApiEnv>, noun: string): string => {
  const name = c.req.param('name') ?? ''
  if (!nameKey.test(name)) throw notFound(noun, name.slice(0, 60))
  return name
}

export const requireSure = (form: Fields, what: string): void => {
  if (textOf(form, 'sure') !== 'yes')
    throw problem('validation-failed', `Say that you mean ${what}.`, { field: 'sure' })
}

const keyOf = (c: Context<ApiEnv>, { at }: Button): string => {
  if (at.includes(':id')) return idOf(c)
  return at.includes(':name') ? nameOf(c, at.split('/')[1]?.replace(/(?<=ch)es$|s$/, '') ?? '') : ''
}

/**
 * Plain form posts: they work without scripts, and the guard of the whole app refuses those that come from a page
 * of another site.
 */
export const buttons = ({ askAs }: ConsoleParts, list: readonly Button[]): Hono<ApiEnv> => {
  const app = new Hono<ApiEnv>()
  for (const button of list)
    app.post(button.at, requireRole(button.role ?? 'operator'), async (c) => {
      const key = keyOf(c, button)
      const form = await fields(c)
      if (button.sure !== undefined) requireSure(form, button.sure)
      const asks = typeof button.asks === 'string' ? button.asks : button.asks(form)
      const notice = await press(button, async () => {
        const body = button.body?.(form, key)
        const options = {
          ...(body === undefined ? {} : { body }),
          ...(button.anyVersion ? { version: '*' } : {}),
        }
        return await askAs(c.get('actor'))<never>(asks.replace('{}', key) as `POST /${string}`, options)
      })
      const page = button.to ?? button.at.slice(0, button.at.lastIndexOf('/'))
      return back(c, form, page.replace(/:(id|name)/, key), notice)
    })
  return app
}

const press = async ({ says, refusals }: Button, ask: () => Promise<never>): Promise<string> => {
  try {
    const answer = await ask()
    return typeof says === 'string' ? says : says(answer)
  } catch (error) {
    const notice = error instanceof DroverError ? refusals?.[error.code] : undefined
    if (notice === undefined) throw error
    return notice
  }
}

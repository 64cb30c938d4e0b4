import { Hono } from 'hono'
import type { Actor, ApiDeps, ApiEnv } from '../../api/http/env.ts'
import { resources } from '../../api/resources.ts'
import { problem } from '../../api/wire/problem.ts'

export interface AskOptions {
  readonly body?: unknown
  /** The version that was read of what is to be changed. */
  readonly version?: string
}

/** Asks the API as one actor; what it refuses is thrown as the ApiError that it would have answered. */
export type Ask = <Answer>(
  request: `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`,
  options?: AskOptions,
) => Promise<Answer>

/**
 * The API without a network between: a button of the console is validated, allowed and recorded by the same code
 * as a request of a program, with the rights of the person who pressed it.
 */
export const createAsk = (deps: ApiDeps): ((actor: Actor) => Ask) => {
  const app = new Hono<ApiEnv>()
  app.onError((error) => {
    throw error
  })
  app.notFound((c) => {
    throw problem('route-unknown', `There is nothing at ${c.req.path.slice(0, 200)}.`)
  })
  app.use(async (c, next) => {
    c.set('actor', (c.env as unknown as { actor: Actor }).actor)
    await next()
  })
  for (const resource of resources) app.route('/v1', resource(deps))
  return (actor) =>
    async <Answer>(request: string, { body, version }: AskOptions = {}) => {
      const [method = 'GET', path = '/'] = request.split(' ')
      const headers = {
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(version === undefined ? {} : { 'If-Match': version === '*' ? '*' : `"${version}"` }),
      }
      const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
      const response = await app.request(path, init, { actor })
      // Failures were thrown; 204 has nothing to say.
      return (response.status === 204 ? undefined : await response.json()) as Answer
    }
}

/** An address with what of its query is there. */
export const withQuery = (
  path: `/${string}`,
  query: Readonly<Record<string, string | null | undefined>>,
): `/${string}` => {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value) given.set(name, value)
  return given.size === 0 ? path : `${path}?${given}`
}

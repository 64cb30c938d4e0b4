import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { absent, Refusal, refuse, wireErrorOf } from '../model/refusal.ts'
import type { Recorder } from '../store/calls.ts'
import type { ActOn } from '../tasks/acts.ts'
import type { Stalls } from '../tasks/stalls.ts'
import type { Tasks } from '../tasks/tasks.ts'
import { adminRoutes } from './admin-routes.ts'
import { type Answer, matchPath, readJson } from './call.ts'
import { deliver } from './deliver.ts'
import { bearer } from './request-headers.ts'

export interface AdminOptions {
  readonly on: ActOn
  readonly tasks: Tasks
  readonly recorder: Recorder
  readonly stalls: Stalls
  /** Undefined: nobody set one, so nobody gets in. */
  readonly token: string | undefined
  readonly password: string
}

const same = (one: string, other: string): boolean =>
  timingSafeEqual(createHash('sha256').update(one).digest(), createHash('sha256').update(other).digest())

/** `/lab/…`: faults, worlds and the recording. Not for those who use the lab, but for those who test them. */
export const serveAdmin = async (
  options: AdminOptions,
  work: { request: IncomingMessage; response: ServerResponse; url: URL },
): Promise<void> => {
  const { request, response, url } = work
  try {
    if (options.token === undefined || !same(bearer(request), options.token))
      throw refuse(
        'platform-permission',
        'The admin token is missing or wrong.',
        'Start the lab with DROVER_LAB_ADMIN_TOKEN, and send that as a bearer token.',
      )
    deliver(response, { kind: 'answer', answer: await answer(options, request, url) })
  } catch (thrown) {
    if (!(thrown instanceof Refusal))
      options.on.lab.log.error({ err: thrown, path: url.pathname }, 'a call of the lab failed')
    deliver(response, { kind: 'error', error: wireErrorOf(thrown) })
  }
}

const answer = async (options: AdminOptions, request: IncomingMessage, url: URL): Promise<Answer> => {
  for (const route of adminRoutes) {
    if (route.method !== request.method) continue
    const params = matchPath(route.path, url.pathname)
    if (!params) continue
    const body = request.method === 'GET' ? undefined : await readJson(request)
    // What was due before comes before.
    await options.tasks.settle()
    return await route.handle({ ...options, params, query: url.searchParams, body })
  }
  throw absent(`call ${request.method} ${url.pathname.slice(0, 100)}`)
}

import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { HonoAdapter } from '@bull-board/hono'
import { serveStatic } from '@hono/node-server/serve-static'
import { Hono } from 'hono'
import type { ApiDeps, ApiEnv } from './http/env.ts'
import { page } from './http/pages.ts'
import { requireRole } from './http/route.ts'
import { boardPolicy } from './http/security-headers.ts'
import { problem } from './wire/problem.ts'

const base = '/queues'
const checkMs = 1_500

/**
 * Bull Board, to look at what the bell store holds. Read-only: a retry or a clean-up there would contradict
 * Postgres, which is the truth; those go through the API. Built when the store first answers, because it must
 * never keep the API from starting.
 */
export const board = (deps: ApiDeps): Hono<ApiEnv> => {
  let built: { directory: string; app: Hono } | undefined
  const app = new Hono<ApiEnv>()
  app.use(requireRole('viewer'))
  app.all('*', async (c) => {
    if (c.req.path === `${base}/`) return c.redirect(base, 308)
    if (c.req.method !== 'GET' && c.req.method !== 'HEAD')
      throw problem('method-not-allowed', 'The board is read-only.', {
        headers: { Allow: 'GET, HEAD' },
        remedy: 'Use the API: POST /v1/jobs/{id}/:retry or /:cancel.',
      })
    return await serve(c.req.raw)
  })
  const serve = async (request: Request): Promise<Response> => {
    if (!deps.bell || !(await answers(deps.bell))) return away(request)
    // Bull Board finds its files relative to the working directory at the time it is built.
    if (built?.directory !== process.cwd()) built = { directory: process.cwd(), app: build(deps.bell) }
    const response = await built.app.request(request)
    // A store that nobody has prepared yet answers, but holds no queues; Bull Board's own words stay inside.
    if (response.status >= 500) return away(request)
    const headers = new Headers(response.headers)
    headers.set('Content-Security-Policy', boardPolicy)
    if (!(headers.get('Content-Type') ?? '').startsWith('text/html'))
      return new Response(response.body, { status: response.status, headers })
    headers.delete('Content-Length')
    return new Response(withoutForeignLinks(await response.text()), { status: response.status, headers })
  }
  return app
}

/** Bull Board asks another company for its fonts. Nobody but us shall learn that somebody looks at the queues. */
const withoutForeignLinks = (html: string): string =>
  html.replace(/<link\b[^>]*\bhref="https?:\/\/[^>]*>/g, '')

const build = (bell: NonNullable<ApiDeps['bell']>): Hono => {
  const adapter = new HonoAdapter(serveStatic)
  adapter.setBasePath(base)
  const queues = bell.queues().map((queue) => {
    const shown = new BullMQAdapter(queue, { readOnlyMode: true })
    // What a ring carries is an id and a generation; should anything else ever be in there, it stays unseen.
    shown.setFormatter('data', ({ id, generation }: { id?: unknown; generation?: unknown }) => ({
      id,
      generation,
    }))
    shown.setFormatter('returnValue', () => undefined)
    return shown
  })
  createBullBoard({
    queues,
    serverAdapter: adapter,
    options: {
      uiBasePath: dirname(createRequire(import.meta.url).resolve('@bull-board/ui/package.json')),
      uiConfig: { boardTitle: 'Drover: bells', miscLinks: [{ text: 'API', url: '/docs' }] },
    },
  })
  return new Hono().route(base, adapter.registerPlugin())
}

const answers = async (bell: NonNullable<ApiDeps['bell']>): Promise<boolean> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), checkMs)
  })
  const check = bell.check().then(
    () => true,
    () => false,
  )
  const answered = await Promise.race([check, late])
  clearTimeout(timer)
  return answered
}

const away = (request: Request): Response => {
  if (!(request.headers.get('accept') ?? '').includes('text/html'))
    throw problem('bell-away', 'The bell store does not answer.', { retryAfterSeconds: 5 })
  const html = page({
    title: 'The bell store is away',
    body: `<p>Drover cannot reach the store that BullMQ keeps its queues in, so there is nothing to show here.</p>
<p>No job is lost: jobs are kept in Postgres and start when the store is back.
<a href="/readyz">/readyz</a> says what is missing.</p>`,
  })
  return new Response(html, {
    status: 503,
    headers: { 'Content-Type': 'text/html; charset=utf-8', 'Retry-After': '5' },
  })
}

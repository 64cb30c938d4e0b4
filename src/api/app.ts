import { OpenAPIHono } from '@hono/zod-openapi'
import { bodyLimit } from 'hono/body-limit'
import { limits } from '../config/config.ts'
import { healthAnswer } from '../process/health.ts'
import { Authenticator, authenticate } from './access/auth.ts'
import { login } from './access/login.ts'
import { board } from './board.ts'
import { docsPage } from './docs-page.ts'
import { deadline } from './http/deadline.ts'
import type { ApiDeps, ApiEnv } from './http/env.ts'
import { answerError } from './http/errors.ts'
import { describeApi } from './http/openapi.ts'
import { docsScript, icon, stylesheet } from './http/pages.ts'
import { hostGuard } from './http/peers.ts'
import { TokenBuckets } from './http/rate-limit.ts'
import { limitRate, limitUrl, traceRequest, trackRequest } from './http/request.ts'
import { requireRole } from './http/route.ts'
import { securityHeaders } from './http/security-headers.ts'
import { checkReadiness } from './readiness.ts'
import { resources } from './resources.ts'
import { routeTable } from './route-table.ts'
import { problem } from './wire/problem.ts'
import { speakPlainly } from './wire/words.ts'

/** The whole HTTP side of Drover. Opens nothing and starts nothing: tests call `app.request()`. */
export const createApi = (deps: ApiDeps): OpenAPIHono<ApiEnv> => {
  speakPlainly()
  const app = new OpenAPIHono<ApiEnv>()
  const authenticator = new Authenticator(deps)
  app.onError(answerError)
  guard(app, deps, authenticator)
  serveHealthPages(app, deps)
  app.route('/', login(deps, authenticator))
  for (const resource of resources) app.route('/v1', resource(deps))
  serveDocs(app)
  app.route('/queues', board(deps))
  if (deps.console) app.route('/', deps.console)
  else app.get('/', (c) => c.redirect('/docs', 303))
  answerUnknown(app)
  return app
}

/** What every request passes, in this order: the cheap refusals first, the database only for who may ask. */
const guard = (app: OpenAPIHono<ApiEnv>, deps: ApiDeps, authenticator: Authenticator): void => {
  const buckets = new TokenBuckets({
    clock: deps.clock,
    burst: deps.limits.requestsBurst,
    refillMs: 1_000 / deps.limits.requestsPerSecond,
    keys: deps.limits.buckets,
  })
  app.use(trackRequest(deps))
  app.use(deps.filters.giveWay)
  app.use(traceRequest)
  app.use(securityHeaders)
  app.use(hostGuard(deps.host, deps.front))
  app.use(limitUrl(deps.limits.urlBytes))
  app.use(deadline(deps.limits.requestMs))
  app.use(authenticate(authenticator))
  app.use(limitRate(buckets))
  app.use(
    bodyLimit({
      maxSize: limits.bodyBytes,
      onError: () => {
        throw problem('body-too-large', `The body is larger than ${limits.bodyBytes} bytes.`)
      },
    }),
  )
}

const serveHealthPages = (app: OpenAPIHono<ApiEnv>, deps: ApiDeps): void => {
  const ready = () => checkReadiness(deps)
  for (const path of ['/healthz', '/readyz', '/metrics'])
    app.get(path, async (c) => {
      const answer = await healthAnswer(path, { role: 'api', ready })
      if (!answer) throw new Error(`${path} is not a health page.`)
      return new Response(answer.body, {
        status: answer.status,
        headers: {
          'Content-Type': answer.type,
          ...(c.res.headers && answer.status === 503 ? { 'Retry-After': '2' } : {}),
        },
      })
    })
}

const assets: Readonly<Record<string, { type: string; text: string }>> = {
  'api.css': { type: 'text/css; charset=utf-8', text: stylesheet },
  'icon.svg': { type: 'image/svg+xml', text: icon },
  'docs.js': { type: 'text/javascript; charset=utf-8', text: docsScript },
}

const serveDocs = (app: OpenAPIHono<ApiEnv>): void => {
  const document = describeApi(app)
  const html = docsPage(document)
  app.get('/v1/openapi.json', requireRole('viewer'), (c) => c.json(document))
  app.get('/docs', requireRole('viewer'), (c) => c.html(html))
  for (const [name, { type, text }] of Object.entries(assets))
    app.get(
      `/assets/${name}`,
      () => new Response(text, { headers: { 'Content-Type': type, 'Cache-Control': 'public, max-age=300' } }),
    )
}

/** Tells an address that is not there from a method that is not: 404 and 405, the latter with `Allow`. */
const answerUnknown = (app: OpenAPIHono<ApiEnv>): void => {
  const table = routeTable(app.routes)
  app.notFound((c) => {
    const allowed = table.methods(c.req.path)
    if (allowed.length === 0)
      throw problem('route-unknown', `There is nothing at ${c.req.path.slice(0, 200)}.`)
    throw problem('method-not-allowed', `${c.req.method} is not possible here.`, {
      headers: { Allow: allowed.join(', ') },
    })
  })
}

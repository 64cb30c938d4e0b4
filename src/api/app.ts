import { OpenAPIHono } from '@hono/zod-openapi'
import { bodyLimit } from 'hono/body-limit'
import { limits } from '../config.ts'
import { healthAnswer } from '../health.ts'
import { Authenticator, authenticate } from './auth.ts'
import { board } from './board.ts'
import { deadline } from './deadline.ts'
import { docsPage } from './docs-page.ts'
import type { ApiDeps, ApiEnv } from './env.ts'
import { answerError } from './errors.ts'
import { login } from './login.ts'
import { describeApi } from './openapi.ts'
import { docsScript, icon, stylesheet } from './pages.ts'
import { hostGuard } from './peers.ts'
import { problem } from './problem.ts'
import { TokenBuckets } from './rate-limit.ts'
import { checkReadiness } from './readiness.ts'
import { limitRate, limitUrl, traceRequest, trackRequest } from './request.ts'
import { assessment } from './resources/assessment.ts'
import { batchActions } from './resources/batch-actions.ts'
import { batchMembers } from './resources/batch-members.ts'
import { batches } from './resources/batches.ts'
import { certificates } from './resources/certificates.ts'
import { effects } from './resources/effects.ts'
import { eventSeals } from './resources/event-seals.ts'
import { events } from './resources/events.ts'
import { instanceOverrides } from './resources/instance-overrides.ts'
import { instanceVerbs } from './resources/instance-verbs.ts'
import { instances } from './resources/instances.ts'
import { kinds } from './resources/job-kinds.ts'
import { jobVerbs } from './resources/job-verbs.ts'
import { jobs } from './resources/jobs.ts'
import { limits as admissionLimits } from './resources/limits.ts'
import { machines } from './resources/machines.ts'
import { networkLists } from './resources/network-lists.ts'
import { networks } from './resources/networks.ts'
import { operationCreate } from './resources/operation-create.ts'
import { operations } from './resources/operations.ts'
import { operationsBulk } from './resources/operations-bulk.ts'
import { pauses } from './resources/pauses.ts'
import { plans } from './resources/plans.ts'
import { queue } from './resources/queue.ts'
import { queueBulk } from './resources/queue-bulk.ts'
import { queueVerbs } from './resources/queue-verbs.ts'
import { rules } from './resources/rules.ts'
import { selfTests } from './resources/self-tests.ts'
import { settings } from './resources/settings.ts'
import { signingKeys } from './resources/signing-keys.ts'
import { sourceDump, targetDump } from './resources/site-dump.ts'
import { hosts, projects, storage } from './resources/site-things.ts'
import { sourceVerbs, targetVerbs } from './resources/site-verbs.ts'
import { sources, targets } from './resources/sites.ts'
import { tokens } from './resources/tokens.ts'
import { unopenedSecrets } from './resources/unopened-secrets.ts'
import { waivers } from './resources/waivers.ts'
import { warnings } from './resources/warnings.ts'
import { webhookVerbs } from './resources/webhook-verbs.ts'
import { webhooks } from './resources/webhooks.ts'
import { workers } from './resources/workers.ts'
import { requireRole } from './route.ts'
import { routeTable } from './route-table.ts'
import { securityHeaders } from './security-headers.ts'
import { speakPlainly } from './words.ts'

const resources = [
  jobs,
  jobVerbs,
  kinds,
  pauses,
  effects,
  workers,
  events,
  eventSeals,
  webhooks,
  webhookVerbs,
  tokens,
  settings,
  admissionLimits,
  selfTests,
  ...sources,
  sourceVerbs,
  sourceDump,
  ...targets,
  targetVerbs,
  targetDump,
  instances,
  instanceOverrides,
  instanceVerbs,
  networkLists,
  networks,
  hosts,
  storage,
  projects,
  rules,
  waivers,
  assessment,
  warnings,
  batches,
  batchActions,
  batchMembers,
  plans,
  queue,
  ...queueBulk,
  ...queueVerbs,
  certificates,
  signingKeys,
  unopenedSecrets,
  machines,
  operations,
  operationCreate,
  operationsBulk,
]

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

import { Hono } from 'hono'
import type { ApiDeps, ApiEnv } from '../api/env.ts'
import { uuidKey } from '../api/page.ts'
import { notFound, problem } from '../api/problem.ts'
import { startSelfTest } from '../api/resources/self-tests.ts'
import { requireRole } from '../api/route.ts'
import { requestCancel } from '../ledger/cancel.ts'
import { waiveEffect } from '../ledger/effects.ts'
import { nudge } from '../ledger/nudge.ts'
import { redrive } from '../ledger/redrive.ts'
import { resumeBySomebody } from '../migration/resume-work.ts'
import { back, type Fields, fields, idOf, textOf } from './form-request.ts'

/** At most as many as one page shows. */
const retryMax = 200
const reasonMax = 500

/**
 * What the buttons do. Plain form posts: they work without scripts, and the guard of the whole app refuses
 * those that come from a page of another site.
 */
export const verbs = (deps: ApiDeps): Hono<ApiEnv> => {
  const app = new Hono<ApiEnv>()
  const operator = requireRole('operator')
  app.post('/jobs/:id/retry', operator, async (c) => {
    const id = idOf(c)
    const { outcome } = await redrive(deps.db, id, { by: c.get('actor').name })
    if (outcome === 'not-found') throw notFound('job', id)
    return back(c, await fields(c), `/jobs/${id}`, outcome === 'ready' ? 'retried' : outcome)
  })
  app.post('/jobs/:id/cancel', operator, async (c) => {
    const id = idOf(c)
    const form = await fields(c)
    const reason = reasonOf(form) || 'canceled by a person'
    const { outcome } = await requestCancel(deps.db, id, { by: c.get('actor').name, reason })
    if (outcome === 'not-found') throw notFound('job', id)
    return back(c, form, `/jobs/${id}`, outcome)
  })
  app.post('/failed/retry', operator, async (c) => {
    const form = await fields(c)
    const ids = [form.id ?? []]
      .flat()
      .filter((id): id is string => typeof id === 'string' && uuidKey.test(id))
    for (const id of ids.slice(0, retryMax)) await redrive(deps.db, id, { by: c.get('actor').name })
    return back(c, form, '/failed', 'retried-all')
  })
  app.post('/effects/:id/waive', operator, async (c) => {
    const id = idOf(c)
    const form = await fields(c)
    const reason = reasonOf(form)
    if (reason === '')
      throw problem('validation-failed', 'Say why nobody has to undo it any more.', { field: 'reason' })
    const waived = await waiveEffect(deps.db, id, { by: c.get('actor').name, reason })
    return back(c, form, '/effects', waived ? 'waived' : 'not-waivable')
  })
  app.post('/pauses/:scope/resume', operator, async (c) => {
    const form = await fields(c)
    const scope = c.req.param('scope') === 'lane' ? 'lane' : 'kind'
    const name = textOf(form, 'name')
    const by = c.get('actor').name
    if (!(await deps.db.begin((tx) => resumeBySomebody(tx, { scope, name }, by))))
      throw notFound('pause', name)
    nudge(deps.db)
    return back(c, form, '/', 'resumed')
  })
  app.post('/self-tests', operator, async (c) => {
    const asked = { jobs: 200, failing: 4, failing_once: 6, steps: 4, step_ms: 150 }
    await deps.db.begin((tx) => startSelfTest(tx, asked, c.get('actor').name))
    nudge(deps.db)
    return back(c, await fields(c), '/', 'started')
  })
  return app
}

const reasonOf = (form: Fields): string => textOf(form, 'reason').slice(0, reasonMax)

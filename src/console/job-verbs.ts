import { Hono } from 'hono'
import type { ApiEnv } from '../api/env.ts'
import { uuidKey } from '../api/page.ts'
import { ApiError, problem } from '../api/problem.ts'
import { requireRole } from '../api/route.ts'
import { back, fields, idOf, textOf } from './form-request.ts'
import type { ConsoleParts } from './serve-page.ts'

/** At most as many as one page shows. */
const retryMax = 200
const reasonMax = 500

/** Refusals that the page says in a sentence: somebody was faster than who pressed. */
const refusals: Readonly<Record<string, string>> = {
  'job-succeeded': 'succeeded',
  'job-not-ended': 'not-ended',
  'job-in-debt': 'in-debt',
  'job-ended': 'ended',
  'not-waivable': 'not-waivable',
  'effect-settled': 'not-waivable',
}

/** The notice of what was done, or of why it was not. */
const noticeOf = async (act: () => Promise<string>): Promise<string> => {
  try {
    return await act()
  } catch (error) {
    const notice = error instanceof ApiError ? refusals[error.code] : undefined
    if (notice === undefined) throw error
    return notice
  }
}

/**
 * What the buttons about jobs do. Plain form posts: they work without scripts, and the guard of the whole app
 * refuses those that come from a page of another site.
 */
export const jobVerbs = ({ askAs }: ConsoleParts): Hono<ApiEnv> => {
  const app = new Hono<ApiEnv>()
  const operator = requireRole('operator')
  app.post('/jobs/:id/retry', operator, async (c) => {
    const id = idOf(c)
    const notice = await noticeOf(async () => {
      await askAs(c.get('actor'))(`POST /v1/jobs/${id}/:retry`)
      return 'retried'
    })
    return back(c, await fields(c), `/jobs/${id}`, notice)
  })
  app.post('/jobs/:id/cancel', operator, async (c) => {
    const id = idOf(c)
    const form = await fields(c)
    const reason = textOf(form, 'reason').slice(0, reasonMax)
    const notice = await noticeOf(async () => {
      const body = reason === '' ? {} : { reason }
      const ask = askAs(c.get('actor'))
      return (await ask<{ outcome: string }>(`POST /v1/jobs/${id}/:cancel`, { body })).outcome
    })
    return back(c, form, `/jobs/${id}`, notice)
  })
  app.post('/failed/retry', operator, async (c) => {
    const form = await fields(c)
    const ask = askAs(c.get('actor'))
    const ids = [form.id ?? []]
      .flat()
      .filter((id): id is string => typeof id === 'string' && uuidKey.test(id))
    for (const id of ids.slice(0, retryMax))
      await ask(`POST /v1/jobs/${id}/:retry`).catch((error: unknown) => {
        // One that cannot be run again keeps none of the others from it.
        if (!(error instanceof ApiError) || error.status >= 500) throw error
      })
    return back(c, form, '/failed', 'retried-all')
  })
  app.post('/effects/:id/waive', operator, async (c) => {
    const id = idOf(c)
    const form = await fields(c)
    const reason = textOf(form, 'reason').slice(0, reasonMax)
    if (reason === '')
      throw problem('validation-failed', 'Say why nobody has to undo it any more.', { field: 'reason' })
    const notice = await noticeOf(async () => {
      await askAs(c.get('actor'))(`POST /v1/effects/${id}/:waive`, { body: { reason } })
      return 'waived'
    })
    return back(c, form, '/effects', notice)
  })
  app.post('/pauses/:scope/resume', operator, async (c) => {
    const form = await fields(c)
    const scope = c.req.param('scope') === 'lane' ? 'lane' : 'kind'
    const name = encodeURIComponent(textOf(form, 'name'))
    await askAs(c.get('actor'))(`DELETE /v1/pauses/${scope}/${name}`)
    return back(c, form, '/', 'resumed')
  })
  app.post('/self-tests', operator, async (c) => {
    const body = { jobs: 200, failing: 4, failing_once: 6, steps: 4, step_ms: 150 }
    await askAs(c.get('actor'))('POST /v1/self-tests', { body })
    return back(c, await fields(c), '/', 'started')
  })
  return app
}

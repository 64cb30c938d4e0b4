import type { Hono } from 'hono'
import type { ApiEnv } from '../../api/http/env.ts'
import { requireRole } from '../../api/http/route.ts'
import { uuidKey } from '../../api/wire/page.ts'
import { ApiError, problem } from '../../api/wire/problem.ts'
import { type Button, buttons } from '../kit/buttons.ts'
import { back, type Fields, fields, textOf } from '../kit/form-request.ts'
import type { ConsoleParts } from '../kit/serve-page.ts'

/** At most as many as one page shows. */
const retryMax = 200
const reasonMax = 500
const reasonOf = (form: Fields): string => textOf(form, 'reason').slice(0, reasonMax)

const requireReason = (form: Fields): string => {
  const reason = reasonOf(form)
  if (reason !== '') return reason
  throw problem('validation-failed', 'Say why nobody has to undo it any more.', { field: 'reason' })
}

/** The rules of the operation that a job does. */
const ofOperation = { 'operation-ended': 'operation-ended', 'past-return': 'past-return' }

const list: readonly Button[] = [
  {
    at: '/jobs/:id/retry',
    asks: 'POST /v1/jobs/{}/:retry',
    says: 'retried',
    refusals: {
      ...{ 'job-succeeded': 'succeeded', 'job-not-ended': 'not-ended', 'job-in-debt': 'in-debt' },
      'job-moot': 'job-moot',
      ...ofOperation,
    },
  },
  {
    at: '/jobs/:id/cancel',
    asks: 'POST /v1/jobs/{}/:cancel',
    body: (form) => (reasonOf(form) === '' ? {} : { reason: reasonOf(form) }),
    says: ({ outcome }: { outcome: string }) => outcome,
    refusals: { 'job-ended': 'ended', ...ofOperation },
  },
  {
    at: '/effects/:id/waive',
    asks: 'POST /v1/effects/{}/:waive',
    body: (form) => ({ reason: requireReason(form) }),
    says: 'waived',
    to: '/effects',
    refusals: { 'not-waivable': 'not-waivable', 'effect-settled': 'not-waivable' },
  },
  ...(['kind', 'lane'] as const).map(
    (scope): Button => ({
      at: `/pauses/${scope}/resume`,
      asks: (form) => `DELETE /v1/pauses/${scope}/${encodeURIComponent(textOf(form, 'name'))}`,
      says: 'resumed',
      to: '/',
    }),
  ),
  {
    at: '/self-tests',
    asks: 'POST /v1/self-tests',
    body: () => ({ jobs: 200, failing: 4, failing_once: 6, steps: 4, step_ms: 150 }),
    says: 'started',
    to: '/',
  },
]

/** What the buttons about jobs do. */
export const jobVerbs = (parts: ConsoleParts): Hono<ApiEnv> => {
  const app = buttons(parts, list)
  app.post('/failed/retry', requireRole('operator'), async (c) => {
    const form = await fields(c)
    const ask = parts.askAs(c.get('actor'))
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
  return app
}

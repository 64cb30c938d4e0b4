import { type Context, Hono } from 'hono'
import type { ApiEnv } from '../../api/http/env.ts'
import { requireRole } from '../../api/http/route.ts'
import { type Ask, withQuery } from '../kit/ask.ts'
import { type Button, buttons, nameOf } from '../kit/buttons.ts'
import { finishedShown } from '../kit/confirm-finished.ts'
import { back, type Fields, fields, textOf, textsOf } from '../kit/form-request.ts'
import type { ConsoleParts } from '../kit/serve-page.ts'
import { batchOf, editBatchPage, newBatchPage } from '../pages/migration/batch-form.ts'
import { addBulkVerbs } from './bulk-verbs.ts'
import { orFormAgain } from './inventory-verbs.ts'

const ticked = (form: Fields, name: string): boolean => textOf(form, name) === 'yes'

const list: readonly Button[] = [
  {
    at: '/batches/:name/start',
    asks: 'POST /v1/batches/{}/:start',
    sure: 'this batch',
    says: 'batch-started',
  },
  { at: '/batches/:name/stop', asks: 'POST /v1/batches/{}/:stop', sure: 'this batch', says: 'batch-stopped' },
  {
    at: '/batches/:name/reset',
    asks: 'POST /v1/batches/{}/:reset',
    sure: 'this batch',
    body: (form) => ({ force: ticked(form, 'force'), confirm_finished: finishedShown(form) }),
    says: 'batch-reset',
  },
  { at: '/batches/:name/plan', asks: 'POST /v1/batches/{}/:plan', says: 'planning' },
  {
    at: '/batches/:name/approve',
    asks: 'POST /v1/batches/{}/:approve',
    body: (form) => ({ plan_id: textOf(form, 'plan_id') }),
    says: 'approved',
  },
  { at: '/queue/:id/resolve', asks: 'POST /v1/queue/{}/:resolve', sure: 'this entry', says: 'resolved' },
  { at: '/queue/:id/retry', asks: 'POST /v1/queue/{}/:retry', sure: 'this entry', says: 'tried-again' },
  {
    at: '/queue/:id/cancel',
    asks: 'POST /v1/queue/{}/:cancel',
    body: (form) => ({ force: ticked(form, 'force'), cleanup: ticked(form, 'cleanup') }),
    says: 'given-up',
  },
  {
    at: '/queue/:id/remove',
    sure: 'this entry',
    asks: (form) =>
      `DELETE ${withQuery('/v1/queue/{}', {
        confirm_finished: finishedShown(form)?.toString(),
        cleanup: ticked(form, 'cleanup') ? 'true' : undefined,
      })}` as `DELETE /v1/${string}`,
    anyVersion: true,
    says: (leaving: unknown) => (leaving === undefined ? 'entry-removed' : 'entry-leaving'),
    to: '/queue',
  },
]

/** What the buttons and forms about batches and their entries do. */
export const migrationVerbs = (parts: ConsoleParts): Hono<ApiEnv> => {
  const app = new Hono<ApiEnv>()
  // Before those of one entry: `all` is the id of none.
  addBulkVerbs(app, parts)
  addBatchForms(app, parts)
  return app.route('/', buttons(parts, list))
}

const addBatchForms = (app: Hono<ApiEnv>, parts: ConsoleParts): void => {
  const operator = requireRole('operator')
  const asking = (c: Context<ApiEnv>): Ask => parts.askAs(c.get('actor'))
  app.post('/batches/:name/remove', operator, async (c) => {
    const name = nameOf(c, 'batch')
    const confirmed = finishedShown(await fields(c))
    const path = withQuery(`/v1/batches/${name}`, { confirm_finished: confirmed?.toString() })
    // A large batch goes in parts, as much of it at once as the time of a request lets.
    const left = await asking(c)<{ entries_left: number } | undefined>(`DELETE ${path}`, { version: '*' })
    return left === undefined
      ? back(c, {}, '/batches', 'batch-removed')
      : back(c, {}, `/batches/${name}/edit`, 'batch-half-removed', left.entries_left)
  })
  app.post('/add-batch', operator, async (c) => {
    const values = textsOf(await fields(c))
    return await orFormAgain(c, parts, {
      values,
      act: async () => {
        await asking(c)('POST /v1/batches', { body: batchOf(values) })
        return back(c, {}, `/batches/${values.name}`, 'batch-defined')
      },
      again: newBatchPage,
    })
  })
  app.post('/batches/:name/edit', operator, async (c) => {
    const name = nameOf(c, 'batch')
    const values = textsOf(await fields(c))
    return await orFormAgain(c, parts, {
      values,
      act: async () => {
        const { name: now } = await asking(c)<{ name: string }>(`PUT /v1/batches/${name}`, {
          body: batchOf(values),
          version: values.version ?? '',
        })
        return back(c, {}, `/batches/${now}`, 'saved')
      },
      again: editBatchPage,
    })
  })
}

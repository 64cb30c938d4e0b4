import { type Context, Hono } from 'hono'
import type { ApiEnv } from '../api/env.ts'
import { nameKey } from '../api/page.ts'
import { notFound, problem } from '../api/problem.ts'
import { requireRole } from '../api/route.ts'
import { type Ask, withQuery } from './ask.ts'
import { addBulkVerbs } from './bulk-verbs.ts'
import { back, type Fields, fields, idOf, textOf, textsOf } from './form-request.ts'
import { orFormAgain } from './inventory-verbs.ts'
import { batchOf, editBatchPage, newBatchPage } from './pages/batch-form.ts'
import type { ConsoleParts } from './serve-page.ts'

const nameOf = (c: Context<ApiEnv>): string => {
  const name = c.req.param('name') ?? ''
  if (!nameKey.test(name)) throw notFound('batch', name.slice(0, 60))
  return name
}

const requireSure = (form: Fields, what: 'batch' | 'entry'): void => {
  if (textOf(form, 'sure') !== 'yes')
    throw problem('validation-failed', `Say that you mean this ${what}.`, { field: 'sure' })
}

/** How many finished migrations the page has told of, and the person has said may be forgotten. */
const finishedShown = (form: Fields): number | undefined => {
  const shown = Number(textOf(form, 'finished'))
  return textOf(form, 'sure-finished') === 'yes' && Number.isInteger(shown) ? shown : undefined
}

/** What the buttons and forms about batches and their entries do. */
export const migrationVerbs = (parts: ConsoleParts): Hono<ApiEnv> => {
  const app = new Hono<ApiEnv>()
  addBatchVerbs(app, parts)
  addBatchForms(app, parts)
  addBulkVerbs(app, parts)
  addEntryVerbs(app, parts)
  return app
}

const askingOf =
  (parts: ConsoleParts) =>
  (c: Context<ApiEnv>): Ask =>
    parts.askAs(c.get('actor'))

const addBatchVerbs = (app: Hono<ApiEnv>, parts: ConsoleParts): void => {
  const operator = requireRole('operator')
  const asking = askingOf(parts)
  for (const verb of ['start', 'stop'] as const)
    app.post(`/batches/:name/${verb}`, operator, async (c) => {
      const name = nameOf(c)
      const form = await fields(c)
      requireSure(form, 'batch')
      await asking(c)(`POST /v1/batches/${name}/:${verb}`)
      return back(c, form, `/batches/${name}`, verb === 'start' ? 'batch-started' : 'batch-stopped')
    })
  app.post('/batches/:name/reset', operator, async (c) => {
    const name = nameOf(c)
    const form = await fields(c)
    requireSure(form, 'batch')
    const body = { force: textOf(form, 'force') === 'yes', confirm_finished: finishedShown(form) }
    await asking(c)(`POST /v1/batches/${name}/:reset`, { body })
    return back(c, form, `/batches/${name}`, 'batch-reset')
  })
  app.post('/batches/:name/plan', operator, async (c) => {
    const name = nameOf(c)
    await asking(c)(`POST /v1/batches/${name}/:plan`)
    return back(c, await fields(c), `/batches/${name}`, 'planning')
  })
  app.post('/batches/:name/approve', operator, async (c) => {
    const name = nameOf(c)
    const form = await fields(c)
    await asking(c)(`POST /v1/batches/${name}/:approve`, { body: { plan_id: textOf(form, 'plan_id') } })
    return back(c, form, `/batches/${name}`, 'approved')
  })
  app.post('/batches/:name/remove', operator, async (c) => {
    const name = nameOf(c)
    const confirmed = finishedShown(await fields(c))
    const path = withQuery(`/v1/batches/${name}`, { confirm_finished: confirmed?.toString() })
    // A large batch goes in parts, as much of it at once as the time of a request lets.
    const left = await asking(c)<{ entries_left: number } | undefined>(`DELETE ${path}`, { version: '*' })
    return left === undefined
      ? back(c, {}, '/batches', 'batch-removed')
      : back(c, {}, `/batches/${name}/edit`, 'batch-half-removed', left.entries_left)
  })
}

const addBatchForms = (app: Hono<ApiEnv>, parts: ConsoleParts): void => {
  const operator = requireRole('operator')
  const asking = askingOf(parts)
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
    const name = nameOf(c)
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

const addEntryVerbs = (app: Hono<ApiEnv>, parts: ConsoleParts): void => {
  const operator = requireRole('operator')
  const asking = askingOf(parts)
  for (const [verb, notice] of [
    ['resolve', 'resolved'],
    ['retry', 'tried-again'],
  ] as const)
    app.post(`/queue/:id/${verb}`, operator, async (c) => {
      const id = idOf(c)
      const form = await fields(c)
      requireSure(form, 'entry')
      await asking(c)(`POST /v1/queue/${id}/:${verb}`)
      return back(c, form, `/queue/${id}`, notice)
    })
  app.post('/queue/:id/cancel', operator, async (c) => {
    const id = idOf(c)
    const form = await fields(c)
    const body = { force: textOf(form, 'force') === 'yes', cleanup: textOf(form, 'cleanup') === 'yes' }
    await asking(c)(`POST /v1/queue/${id}/:cancel`, { body })
    return back(c, form, `/queue/${id}`, 'given-up')
  })
  app.post('/queue/:id/remove', operator, async (c) => {
    const id = idOf(c)
    const form = await fields(c)
    requireSure(form, 'entry')
    const path = withQuery(`/v1/queue/${id}`, {
      confirm_finished: finishedShown(form)?.toString(),
      cleanup: textOf(form, 'cleanup') === 'yes' ? 'true' : undefined,
    })
    const leaving = await asking(c)(`DELETE ${path}`, { version: '*' })
    return back(c, form, '/queue', leaving === undefined ? 'entry-removed' : 'entry-leaving')
  })
}

import type { Hono } from 'hono'
import type { ApiEnv } from '../api/env.ts'
import { requireRole } from '../api/route.ts'
import { fields, textOf, textsOf } from './form-request.ts'
import { orFormAgain } from './inventory-verbs.ts'
import { requireSure } from './kit/buttons.ts'
import { type BulkAnswer, bulkPage, bulkResultPage } from './pages/bulk.ts'
import { bulkVerbOf, choiceOf } from './pages/bulk-choice.ts'
import { type ConsoleParts, sendPage } from './serve-page.ts'

/** A verb for all entries that fit what the address asks for, when a person has said how many these are. */
export const addBulkVerbs = (app: Hono<ApiEnv>, parts: ConsoleParts): void => {
  app.post('/queue/all/:verb', requireRole('operator'), async (c) => {
    const verb = bulkVerbOf(c.req.param('verb'))
    const form = await fields(c)
    const choice = choiceOf(new URL(c.req.url).searchParams)
    requireSure(form, 'all of them')
    const flags = { force: textOf(form, 'force') === 'yes', cleanup: textOf(form, 'cleanup') === 'yes' }
    const cursor = textOf(form, 'cursor')
    const body = {
      ...choice,
      ...(cursor === '' ? {} : { cursor }),
      confirm_count: Number(textOf(form, 'count')),
      ...(verb === 'cancel' ? flags : {}),
    }
    return await orFormAgain(c, parts, {
      values: textsOf(form),
      act: async () => {
        const answer = await parts.askAs(c.get('actor'))<BulkAnswer>(`POST /v1/queue/:${verb}`, { body })
        return await sendPage(c, await bulkResultPage({ verb, choice, flags }, answer)(), 200)
      },
      again: bulkPage,
    })
  })
}

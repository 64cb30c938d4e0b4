import type { Hono } from 'hono'
import type { ApiEnv } from '../../api/http/env.ts'
import { requireRole } from '../../api/http/route.ts'
import { requireSure } from '../kit/buttons.ts'
import { fields, textOf } from '../kit/form-request.ts'
import { type ConsoleParts, sendPage } from '../kit/serve-page.ts'
import { type BulkAnswer, bulkResultPage } from '../pages/migration/bulk.ts'
import { bulkVerbOf, choiceOf } from '../pages/migration/bulk-choice.ts'

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
    const answer = await parts.askAs(c.get('actor'))<BulkAnswer>(`POST /v1/queue/:${verb}`, { body })
    return await sendPage(c, await bulkResultPage({ verb, choice, flags }, answer)(), 200)
  })
}

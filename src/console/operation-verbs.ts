import { Hono } from 'hono'
import type { ApiEnv } from '../api/env.ts'
import { requireRole } from '../api/route.ts'
import { back, fields, idOf } from './form-request.ts'
import type { ConsoleParts } from './serve-page.ts'

/** What the buttons and forms about machines of targets and their operations do. */
export const operationVerbs = (parts: ConsoleParts): Hono<ApiEnv> => {
  const app = new Hono<ApiEnv>()
  app.post('/operations/:id/cancel', requireRole('operator'), async (c) => {
    const id = idOf(c)
    await parts.askAs(c.get('actor'))(`POST /v1/operations/${id}/:cancel`)
    return back(c, await fields(c), `/operations/${id}`, 'operation-canceled')
  })
  return app
}

import type { ApiDeps } from '../../http/env.ts'
import { defineRoute, json, newResource } from '../../http/route.ts'
import { downListSchema, readDown } from '../fleet/down-view.ts'

const show = defineRoute({
  method: 'get',
  path: '/down',
  role: 'viewer',
  tag: 'Queue',
  summary: 'The machines that are off because of a migration, since when, and what brings them back',
  responses: { 200: json(downListSchema, 'All batches together') },
})

/** `/down`: what `npm start`, `drover down` and `drover doctor` say first. */
export const down = (deps: ApiDeps) =>
  newResource().openapi(show, async (c) => c.json(await readDown(deps.db, {}), 200))

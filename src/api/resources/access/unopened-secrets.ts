import { z } from '@hono/zod-openapi'
import { findUnopened } from '../../../../db/queries/seals/find-unopened.ts'
import { siteRemedy, webhookRemedy } from '../../../sealing/sealed-things.ts'
import type { ApiDeps } from '../../http/env.ts'
import { defineRoute, json, newResource } from '../../http/route.ts'

const shownMax = 20

const list = defineRoute({
  method: 'get',
  path: '/unopened-secrets',
  role: 'viewer',
  tag: 'Warnings',
  summary: 'What nothing opens since a secret key was lost, and how each is given again',
  responses: {
    200: json(
      z
        .object({
          total: z.number().int(),
          items: z
            .array(
              z.object({
                name: z.string().openapi({ example: 'source paris' }),
                remedy: z.string().openapi({ example: 'drover sources set paris --password' }),
              }),
            )
            .openapi({ description: `The first ${shownMax}.` }),
        })
        .openapi('UnopenedSecrets'),
      'None where every key is there',
    ),
  },
})

/** `/unopened-secrets`: what `drover doctor` names. */
export const unopenedSecrets = (deps: ApiDeps) =>
  newResource().openapi(list, async (c) => {
    const rows = await findUnopened(deps.db, deps.sealer.keyIds, shownMax)
    const items = rows.map(({ kind, id, name }) => ({
      name: `${kind} ${name}`,
      remedy: kind === 'webhook' ? webhookRemedy(id) : siteRemedy(kind, name),
    }))
    return c.json({ total: rows[0]?.total ?? 0, items }, 200)
  })

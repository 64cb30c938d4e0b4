import { z } from '@hono/zod-openapi'
import {
  countOtherAdmins,
  findAccessTokenRow,
  listAccessTokens,
  lockAccessTokens,
  type TokenRow,
} from '../../../../db/queries/access/access-tokens.ts'
import { nameSchema } from '../../../domain/job/kind.ts'
import { createToken, newSecret, revokeToken } from '../../access/tokens.ts'
import { type ApiDeps, type Role, roles } from '../../http/env.ts'
import { once } from '../../http/idempotency.ts'
import { listRoute } from '../../http/read-routes.ts'
import { defineRoute, idParams, json, jsonBody } from '../../http/route.ts'
import { notFound, problem } from '../../wire/problem.ts'
import { timestamp } from '../../wire/schemas.ts'
import { toWire } from '../../wire/wire.ts'

const tag = 'Tokens'
const roleSchema = z.enum(roles)

const shape = {
  id: z.uuid(),
  name: z.string(),
  role: roleSchema,
  hint: z.string().openapi({ description: 'Its first characters.' }),
  created_by: z.string(),
  created_at: timestamp,
  expires_at: timestamp.nullable(),
  last_used_at: timestamp.nullable().openapi({ description: 'To about a minute.' }),
  revoked_at: timestamp.nullable(),
}
const tokenSchema = z.object(shape).openapi('Token')
const tokenWithSecret = z
  .object({ ...shape, secret: z.string().openapi({ description: 'The bearer token. Shown this once.' }) })
  .openapi('TokenWithSecret')

const create = defineRoute({
  method: 'post',
  path: '/tokens',
  role: 'admin',
  tag,
  summary: 'Create a token',
  request: {
    body: jsonBody(
      z
        .strictObject({
          name: nameSchema,
          role: roleSchema,
          expires_at: z.iso.datetime({ offset: true }).optional(),
        })
        .openapi('NewToken', { example: { name: 'ci', role: 'operator' } }),
    ),
  },
  responses: { 201: json(tokenWithSecret, 'Created, with its secret') },
})

const remove = defineRoute({
  method: 'delete',
  path: '/tokens/{id}',
  role: 'admin',
  tag,
  summary: 'Revoke a token, and the sessions made from it',
  request: { params: idParams },
  responses: { 204: { description: 'It is revoked' } },
})

const view = (row: TokenRow) => toWire(tokenSchema, row, { role: row.role as Role })

const list = listRoute({
  path: '/tokens',
  role: 'admin',
  tag,
  summary: 'List tokens',
  item: tokenSchema,
  page: 'TokenPage',
  says: 'A page of tokens',
  read: ({ db }, _, at) => listAccessTokens(db, at),
  view,
})

export const tokens = (deps: ApiDeps) =>
  list(deps)
    .openapi(create, async (c) => {
      const body = c.req.valid('json')
      const expiresAt = body.expires_at === undefined ? null : new Date(body.expires_at)
      if (expiresAt && expiresAt.getTime() <= deps.clock.now())
        throw problem('validation-failed', 'expires_at: It must be in the future.', {
          field: 'expires_at',
          errors: [{ field: 'expires_at', message: 'must be in the future' }],
        })
      const createdBy = c.get('actor').name
      const answer = await once(
        c,
        deps,
        async (tx) => {
          await lockAccessTokens(tx)
          const secret = newSecret()
          const row = await createToken(tx, {
            name: body.name,
            role: body.role,
            expiresAt,
            createdBy,
            secret,
          })
          return {
            status: 201 as const,
            body: { ...view(row), secret },
            headers: { Location: `/v1/tokens/${row.id}` },
          }
        },
        { secret: true },
      )
      return c.json(answer.body, 201)
    })
    .openapi(remove, async (c) => {
      const { id } = c.req.valid('param')
      await deps.db.begin(async (tx) => {
        await lockAccessTokens(tx)
        const row = await findAccessTokenRow(tx, id)
        if (!row) throw notFound('token', id)
        if (row.revokedAt !== null) return
        if (row.role === 'admin' && (await countOtherAdmins(tx, id)) === 0)
          throw problem('last-admin', 'Without this token nobody could administrate Drover.')
        await revokeToken(tx, id, c.get('actor').name)
      })
      return c.body(null, 204)
    })

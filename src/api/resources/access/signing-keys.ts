import { z } from '@hono/zod-openapi'
import type { Tx } from '../../../../db/client.ts'
import { insertAuditEvent } from '../../../../db/queries/events/insert-audit-event.ts'
import { listSigningKeys } from '../../../../db/queries/seals/signing-keys.ts'
import { rotateSigningKey } from '../../../certificate/installation-key.ts'
import { publicPem } from '../../../certificate/signing.ts'
import type { ApiDeps } from '../../http/env.ts'
import { once } from '../../http/idempotency.ts'
import { defineRoute, json, newResource } from '../../http/route.ts'
import { toWire } from '../../wire/wire.ts'

const tag = 'Certificates'

const signingKeySchema = z
  .object({
    id: z.string().openapi({ description: 'Follows from the key; certificates name it.' }),
    algorithm: z.literal('ed25519'),
    public_key: z.string().openapi({ description: 'PEM. Keep a copy where Drover cannot change it.' }),
    signs: z.boolean().openapi({ description: 'Certificates and heads are signed with it now.' }),
    created_at: z.iso.datetime(),
    retired_at: z.iso
      .datetime()
      .nullable()
      .openapi({ description: 'From then on it signs nothing; what it signed stays good.' }),
    follows: z
      .string()
      .nullable()
      .openapi({ description: 'The key before it. Null: the first, or nobody could vouch for it.' }),
    vouched: z.string().nullable().openapi({
      description: 'The signature, in base64, by which the key before it says that this one follows.',
    }),
  })
  .openapi('SigningKey')

const list = defineRoute({
  method: 'get',
  path: '/signing-keys',
  role: 'viewer',
  tag,
  summary: 'The keys that certificates are signed with, the newest first',
  responses: {
    200: json(
      z.object({ items: z.array(signingKeySchema) }).openapi('SigningKeys'),
      'None until the first certificate is signed',
    ),
  },
})

const rotate = defineRoute({
  method: 'post',
  path: '/signing-keys/:verb{:rotate}',
  role: 'admin',
  tag,
  summary: 'Sign with another key from now on',
  description:
    'The key before vouches for the new one; then its private half is destroyed. Its public half stays listed, and ' +
    'what it signed goes on to verify.',
  responses: { 201: json(signingKeySchema, 'The key that signs now') },
})

const readKeys = async (db: Parameters<typeof listSigningKeys>[0]) => {
  const keys = await listSigningKeys(db)
  return keys.map((key) =>
    toWire(signingKeySchema, key, {
      algorithm: 'ed25519',
      public_key: publicPem(key.publicKey),
      vouched: key.vouched?.toString('base64') ?? null,
    }),
  )
}

const rotateKey = async (tx: Tx, deps: ApiDeps, by: string) => {
  const { id, follows } = await rotateSigningKey(tx, deps.sealer)
  await insertAuditEvent(tx, {
    type: 'signing-key.rotated',
    subject: { type: 'signing-key', id },
    actor: by,
    detail: { before: follows },
  })
  const made = (await readKeys(tx)).find((key) => key.id === id)
  if (!made) throw new Error('A signing key was made but is not listed.')
  return { status: 201 as const, body: made }
}

/** `/signing-keys`: what proves certificates. */
export const signingKeys = (deps: ApiDeps) =>
  newResource()
    .openapi(list, async (c) => c.json({ items: await readKeys(deps.db) }, 200))
    .openapi(rotate, async (c) => {
      const by = c.get('actor').name
      const answer = await once(c, deps, (tx) => rotateKey(tx, deps, by))
      return c.json(answer.body, 201)
    })

import { z } from '@hono/zod-openapi'
import { listSigningKeys } from '../../../db/queries/signing-keys.ts'
import { publicPem } from '../../certificate/signing.ts'
import type { ApiDeps } from '../env.ts'
import { defineRoute, json, newResource } from '../route.ts'

const list = defineRoute({
  method: 'get',
  path: '/signing-keys',
  role: 'viewer',
  tag: 'Certificates',
  summary: 'The keys that certificates are signed with, the newest first',
  responses: {
    200: json(
      z
        .object({
          items: z.array(
            z
              .object({
                id: z.string().openapi({ description: 'Follows from the key; certificates name it.' }),
                algorithm: z.literal('ed25519'),
                public_key: z
                  .string()
                  .openapi({ description: 'PEM. Keep a copy where Drover cannot change it.' }),
                created_at: z.iso.datetime(),
              })
              .openapi('SigningKey'),
          ),
        })
        .openapi('SigningKeys'),
      'None until the first certificate is signed',
    ),
  },
})

export const signingKeys = (deps: ApiDeps) =>
  newResource().openapi(list, async (c) => {
    const keys = await listSigningKeys(deps.db)
    return c.json(
      {
        items: keys.map(({ id, publicKey, createdAt }) => ({
          id,
          algorithm: 'ed25519' as const,
          public_key: publicPem(publicKey),
          created_at: createdAt.toISOString(),
        })),
      },
      200,
    )
  })

import { z } from 'zod'
import { defineKind, nameSchema } from './kind.ts'

const sha256Fingerprint = z
  .string()
  .regex(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/, 'must be a SHA-256 fingerprint such as AB:CD:…, 32 bytes')

/** Streams an OVA into a target as an image or a template: checked, hashed and decoded on the way. */
export const importOva = defineKind({
  kind: 'import-ova',
  title: 'Import an OVA',
  version: 1,
  payload: z.strictObject({
    target: nameSchema,
    image: nameSchema,
    from: z.discriminatedUnion('type', [
      z.strictObject({
        type: z.literal('url'),
        url: z.url({ protocol: /^https?$/ }),
        fingerprint: sha256Fingerprint.optional(),
      }),
      z.strictObject({ type: z.literal('upload'), upload_id: z.uuid() }),
    ]),
    pool: nameSchema.optional(),
    require_manifest: z.boolean().default(false),
  }),
  concurrency: 2,
})

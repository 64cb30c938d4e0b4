import { z } from '@hono/zod-openapi'
import { nameSchema } from '../../../domain/job/kind.ts'
import type { ImageSource } from '../../../domain/template/image.ts'
import { refuseUrl } from '../../access/webhook-url.ts'
import { caSchema, fingerprintSchema } from '../inventory/site-view.ts'

const word = z.string().max(255).default('')

/** Where objects are made on a target; empty: the platform's own choice. */
export const placeShape = {
  project: word,
  pool: word.openapi({ description: 'Where the disks are put.' }),
  host: word,
  network: word.openapi({ description: 'What its network cards are connected to.' }),
}

/** In one spelling: platforms take `/a/b`, `a/b` and `/a/b/` for one folder, and a place must not be taken twice. */
const oneSpelling = (folder: string): string => {
  const bare = folder.replace(/^\/+|\/+$/g, '').replace(/\/{2,}/g, '/')
  // A word alone may be the id of a folder.
  return bare.includes('/') ? `/${bare}` : bare
}

export const folderField = word.transform(oneSpelling).openapi({
  type: 'string',
  maxLength: 255,
  default: '',
  description: 'The folder on the target that holds the objects.',
})

/** Without a fragment and a user name: every reader of the image would see a password in them. */
const urlField = z
  .string()
  .max(2_000)
  .superRefine((url, context) => {
    const refused = refuseUrl(url)
    if (refused !== undefined) context.addIssue({ code: 'custom', message: refused })
  })

export const imageBody = z
  .strictObject({
    name: nameSchema,
    target: nameSchema,
    url: urlField.optional().openapi({ description: 'Of an OVA: https, or http on this machine.' }),
    file: z
      .string()
      .max(1_000)
      .regex(/^\/[^\0]+$/, 'must be an absolute path')
      .optional()
      .openapi({ description: 'The path of an OVA on every worker.' }),
    ca: caSchema.optional(),
    fingerprint: fingerprintSchema.optional(),
    sha256: z
      .string()
      .regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hexadecimal digits')
      .transform((digest) => digest.toLowerCase())
      .optional()
      .openapi({ type: 'string', description: 'Of the whole archive; another content is refused.' }),
    require_manifest: z
      .boolean()
      .default(false)
      .openapi({ description: 'Refuse an archive whose content no manifest vouches for.' }),
    folder: folderField,
    ...placeShape,
  })
  .superRefine((body, context) => {
    if (body.url === undefined)
      for (const path of ['ca', 'fingerprint'] as const)
        if (body[path] !== undefined)
          context.addIssue({ code: 'custom', path: [path], message: 'is for a url' })
    if ((body.url === undefined) !== (body.file === undefined)) return
    const message = body.url === undefined ? 'give a url or a file' : 'give a url or a file, not both'
    context.addIssue({ code: 'custom', path: ['url'], message })
  })
  .openapi('NewImage', {
    example: {
      name: 'debian-13.1',
      target: 'oslo',
      url: 'https://images.example.org/debian-13.1.ova',
      folder: 'golden',
    } as never,
  })

export type ImageBody = z.infer<typeof imageBody>

/** The schema ensures that either a url or a file is given. */
export const sourceOf = ({ url, file, ca, fingerprint }: ImageBody): ImageSource =>
  url === undefined
    ? { kind: 'file', path: file ?? '' }
    : { kind: 'url', url, ...(ca ? { ca } : {}), ...(fingerprint ? { fingerprint } : {}) }

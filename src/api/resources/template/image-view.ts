import { z } from '@hono/zod-openapi'
import type { Queryable } from '../../../../db/client.ts'
import { findImageUses } from '../../../../db/queries/templates/image-uses.ts'
import {
  type ImageLine,
  listReplicaLines,
  type ReplicaLine,
} from '../../../../db/queries/templates/list-images.ts'
import {
  type ImageSource,
  imageStates,
  replicaStates,
  verifications,
} from '../../../domain/template/image.ts'
import { shownError } from '../../../domain/template/shown.ts'
import { anything, timestamp } from '../../wire/schemas.ts'
import { toWire } from '../../wire/wire.ts'
import { errorSchema } from '../jobs/job-view.ts'

const sourceSchema = z
  .object({
    kind: z.enum(['url', 'file']),
    url: z.string().optional().openapi({ description: 'Without its query, which may hold a secret.' }),
    path: z.string().optional(),
  })
  .openapi('ImageSource')

const factsSchema = z
  .object({
    product: z.string(),
    version: z.string(),
    vendor: z.string(),
    os: z.string(),
    cpus: z.int(),
    memory: z.number(),
    firmware: z.string(),
    disks: z.array(z.object({ id: z.string(), capacity: z.number(), format: z.string(), size: z.number() })),
    networks: z.array(z.string()),
    eula: z.string().optional(),
  })
  .openapi('ImageFacts')

const imageShape = {
  id: z.uuid(),
  name: z.string(),
  state: z.enum(imageStates),
  source: sourceSchema,
  expected_digest: z.string().nullable(),
  digest: z
    .string()
    .nullable()
    .openapi({ description: 'SHA-256 of the archive, once it was read to the end.' }),
  size_bytes: z.number().nullable(),
  verified: z.enum(verifications).nullable().openapi({ description: 'What vouches for the content.' }),
  require_manifest: z.boolean(),
  facts: factsSchema.nullable(),
  targets: z.array(z.string()).openapi({ description: 'Targets that have a copy of it.' }),
  templates: z.array(z.string()).openapi({ description: 'Templates that want it.' }),
  error: errorSchema.nullable(),
  job_id: z.uuid().nullable(),
  progress: anything.nullable().openapi({ description: 'Of its import.' }),
  version: z.int().openapi({ description: 'Of the ETag.' }),
  created_by: z.string(),
  created_at: timestamp,
  deleted_at: timestamp.nullable(),
}

export const imageSummary = z.object(imageShape).openapi('ImageSummary')

const replicaSchema = z
  .object({
    id: z.uuid(),
    target: z.string(),
    folder: z.string(),
    project: z.string(),
    pool: z.string(),
    host: z.string(),
    network: z.string(),
    ref: z.string().nullable().openapi({ description: "The platform's id." }),
    state: z.enum(replicaStates),
    template: z.string().nullable().openapi({ description: 'The template that has it; null: the shelf.' }),
    created_at: timestamp,
  })
  .openapi('ImageReplica')

const useSchema = z
  .object({
    template: z.string(),
    use: z.enum(['live', 'wants', 'keeps', 'holds']),
    version: z.int().nullable(),
  })
  .openapi('ImageUse')

export const imageSchema = z
  .object({
    ...imageShape,
    replicas: z.array(replicaSchema),
    used_by: z.array(useSchema).openapi({ description: 'While there are any it cannot be deleted.' }),
  })
  .openapi('Image')

/** The query of a signed address holds a secret. */
const shownSource = (source: ImageSource): z.infer<typeof sourceSchema> =>
  source.kind === 'file' ? { ...source } : { kind: 'url', url: source.url.replace(/\?.*$/s, '') }

const commonOf = (line: ImageLine) => ({
  state: line.shownState,
  source: shownSource(line.source),
  facts: line.facts && {
    ...line.facts,
    disks: line.facts.disks.map((disk) => ({ ...disk })),
    networks: [...line.facts.networks],
  },
  error: shownError(line),
  progress: line.shownState === 'importing' ? line.jobProgress : null,
})

export type ImageSummary = z.infer<typeof imageSummary>

export const viewImageSummary = (line: ImageLine) => toWire(imageSummary, line, commonOf(line))

export type ImageView = z.infer<typeof imageSchema>

const viewReplica = (replica: ReplicaLine) => toWire(replicaSchema, replica)

/** An image with its replicas and uses. */
export const viewImage = async (db: Queryable, line: ImageLine): Promise<ImageView> =>
  toWire(imageSchema, line, {
    ...commonOf(line),
    replicas: (await listReplicaLines(db, { imageId: line.id })).map(viewReplica),
    used_by: (await findImageUses(db, line.id)).map((use) => ({ ...use })),
  })

import { z } from '@hono/zod-openapi'
import type { Tx } from '../../../../db/client.ts'
import { listImages, readImage } from '../../../../db/queries/templates/list-images.ts'
import { nameSchema } from '../../../domain/job/kind.ts'
import { imageStates } from '../../../domain/template/image.ts'
import { nudge } from '../../../ledger/jobs/nudge.ts'
import { addImage } from '../../../template/ask/add-image.ts'
import { removeImage } from '../../../template/ask/remove-image.ts'
import type { ApiDeps } from '../../http/env.ts'
import { once } from '../../http/idempotency.ts'
import { listRoute, showRoute } from '../../http/read-routes.ts'
import { defineRoute, ifMatchHeaders, json, jsonBody } from '../../http/route.ts'
import { etagOf } from '../../wire/preconditions.ts'
import { notFound } from '../../wire/problem.ts'
import { askedRemoval, destroyQuery, removalSchema } from './destroy-query.ts'
import { type ImageBody, imageBody, sourceOf } from './image-body.ts'
import { imageSchema, imageSummary, viewImage, viewImageSummary } from './image-view.ts'

const tag = 'Images'

const imageParams = z.object({
  image: z
    .string()
    .min(1)
    .max(63)
    .openapi({ param: { name: 'image', in: 'path' }, description: 'An id or a name.' }),
})

const list = listRoute({
  path: '/images',
  tag,
  summary: 'List images, the newest first',
  description: 'Deleted images are listed with `state=deleted` alone.',
  query: {
    state: z.enum(imageStates).optional(),
    target: nameSchema.optional().openapi({ description: 'Only those with a copy on it.' }),
    name: z.string().max(63).optional().openapi({ description: 'A part of the name, in any case.' }),
  },
  item: imageSummary,
  page: 'ImagePage',
  says: 'A page',
  read: ({ db }, filter, at) => listImages(db, filter, at),
  view: viewImageSummary,
})

const show = showRoute({
  path: '/images/{image}',
  tag,
  summary: 'Show an image: what is in it, where copies of it are, which templates use it',
  params: imageParams,
  schema: imageSchema,
  says: 'The image; its ETag is for If-Match',
  noun: 'image',
  find: ({ db }, idOrName) => readImage(db, idOrName),
  view: (line, { db }) => viewImage(db, line),
  version: (line) => line.version,
})

const create = defineRoute({
  method: 'post',
  path: '/images',
  role: 'operator',
  tag,
  summary: 'Import an image from an OVA',
  description:
    'Its job streams the archive once into a template on the target, which waits there until a template points at ' +
    'it. An image never changes: other content is another image.',
  request: { body: jsonBody(imageBody) },
  responses: { 202: json(imageSchema, 'It is being imported by `job_id`') },
})

const remove = defineRoute({
  method: 'delete',
  path: '/images/{image}',
  role: 'operator',
  tag,
  summary: 'Delete an image that no template uses',
  description:
    'Refused while a template uses it or a job is at it; `errors` and the message say which. Its copies stay on their ' +
    'targets unless `destroy` is true, which needs `confirm_destroy`. Its id is never used again.',
  request: { params: imageParams, headers: ifMatchHeaders, query: destroyQuery },
  responses: {
    202: json(removalSchema, 'Deleted; jobs destroy its copies'),
    204: { description: 'Deleted' },
  },
})

const createImage = async (tx: Tx, body: ImageBody, by: string) => {
  const { name, target, folder, project, pool, host, network } = body
  const { id } = await addImage(tx, {
    ...{ name, target, folder, by, source: sourceOf(body), place: { project, pool, host, network } },
    ...{ expectedDigest: body.sha256 ?? null, requireManifest: body.require_manifest },
  })
  const line = await readImage(tx, id)
  if (!line) throw new Error('An image was stored but did not come back.')
  return {
    status: 202 as const,
    body: await viewImage(tx, line),
    headers: { Location: `/v1/images/${id}`, ETag: etagOf(line.version) },
  }
}

/** `/images`. */
export const images = (deps: ApiDeps) =>
  show(deps, list(deps))
    .openapi(create, async (c) => {
      const body = c.req.valid('json')
      const by = c.get('actor').name
      const answer = await once(c, deps, (tx) => createImage(tx, body, by))
      nudge(deps.db)
      return c.json(answer.body, 202)
    })
    .openapi(remove, async (c) => {
      const { image } = c.req.valid('param')
      const asked = askedRemoval(c.req.valid('query'), {
        ifMatch: c.req.valid('header')['if-match'],
        by: c.get('actor').name,
      })
      const jobs = (await deps.db.begin((tx) => removeImage(tx, { image, ...asked }))) as
        | readonly string[]
        | undefined
      if (!jobs) throw notFound('image', image)
      nudge(deps.db)
      return jobs.length === 0 ? c.body(null, 204) : c.json({ jobs: [...jobs] }, 202)
    })

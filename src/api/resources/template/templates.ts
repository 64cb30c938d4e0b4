import { z } from '@hono/zod-openapi'
import type { Tx } from '../../../../db/client.ts'
import { insertAuditEvent } from '../../../../db/queries/events/insert-audit-event.ts'
import { listTemplates, readTemplate } from '../../../../db/queries/templates/list-templates.ts'
import { writeTemplateSettings } from '../../../../db/queries/templates/template-rows.ts'
import { nameSchema } from '../../../domain/job/kind.ts'
import { isReservedName, longestProductionName } from '../../../domain/template/names.ts'
import { templateStates } from '../../../domain/template/state.ts'
import { nudge } from '../../../ledger/jobs/nudge.ts'
import { addTemplate } from '../../../template/ask/add-template.ts'
import { forgetTemplate } from '../../../template/ask/forget-template.ts'
import { requireTemplate } from '../../../template/ask/want-image.ts'
import type { ApiDeps } from '../../http/env.ts'
import { once } from '../../http/idempotency.ts'
import { listRoute, showRoute } from '../../http/read-routes.ts'
import { defineRoute, ifMatchHeaders, json, jsonBody } from '../../http/route.ts'
import { etagOf, requireVersion } from '../../wire/preconditions.ts'
import { askedRemoval, destroyQuery, removalSchema } from './destroy-query.ts'
import { folderField, placeShape } from './image-body.ts'
import { showTemplate, templateSchema, viewTemplate } from './template-view.ts'

export const templateTag = 'Templates'
export const templateParams = z.object({ name: nameSchema })

/** An image by its id or its name, in a body. */
export const imageField = z.string().min(1).max(63)

const keepField = z.int().min(0).max(20)
const graceField = z.int().min(0).max(604_800)

const settingsShape = {
  keep_versions: keepField
    .default(2)
    .openapi({ description: 'How many versions that were live wait on the shelf for a rollback.' }),
  grace_seconds: graceField
    .default(600)
    .openapi({ description: 'How long a version that is not kept stays before it is destroyed.' }),
  allow_downgrade: z
    .boolean()
    .default(false)
    .openapi({ description: 'An update may go to an older version of the same product.' }),
}

const templateBody = z
  .strictObject({
    name: nameSchema,
    target: nameSchema,
    folder: folderField,
    production: z
      .string()
      .trim()
      .min(1)
      .max(longestProductionName)
      .refine((name) => !isReservedName(name), 'is a name that Drover gives to objects beside a template')
      .optional()
      .openapi({ description: 'The name on the platform; `name` unless it is given.' }),
    image: imageField.openapi({
      description: 'The id or the name of an image that is ready, or is being imported.',
    }),
    ...settingsShape,
    ...placeShape,
  })
  .openapi('NewTemplate', {
    example: { name: 'debian', target: 'oslo', folder: 'golden', image: 'debian-13.1' } as never,
  })

type TemplateBody = z.infer<typeof templateBody>

const place = z.string().max(255).optional()

const changeBody = z
  .strictObject({
    keep_versions: keepField.optional(),
    grace_seconds: graceField.optional(),
    allow_downgrade: z.boolean().optional(),
    ...{ project: place, pool: place, host: place, network: place },
  })
  .openapi('TemplateChange', { example: { keep_versions: 3 } })

const list = listRoute({
  path: '/templates',
  tag: templateTag,
  summary: 'List templates by name, with what they point at',
  query: {
    target: nameSchema.optional(),
    state: z.enum(templateStates).optional(),
    image: imageField.optional().openapi({ description: 'Only those that want it: an id or a name.' }),
  },
  item: templateSchema,
  page: 'TemplatePage',
  says: 'A page',
  sortedBy: 'name',
  read: ({ db }, filter, at) => listTemplates(db, filter, at),
  view: viewTemplate,
})

const show = showRoute({
  path: '/templates/{name}',
  tag: templateTag,
  summary: 'Show a template: what it points at, what is wanted, and what is in the way',
  params: templateParams,
  schema: templateSchema,
  says: 'The template; its ETag is for If-Match',
  noun: 'template',
  find: ({ db }, name) => readTemplate(db, name),
  view: (line) => viewTemplate(line),
  version: (line) => line.version,
})

const create = defineRoute({
  method: 'post',
  path: '/templates',
  role: 'operator',
  tag: templateTag,
  summary: 'Make a name on a target point at an image',
  description:
    'Something else that has the name there is never touched: the template is then in `conflict`, which says what it is.',
  request: { body: jsonBody(templateBody) },
  responses: { 202: json(templateSchema, 'Stored; `job_id` makes the name point at the image') },
})

const change = defineRoute({
  method: 'patch',
  path: '/templates/{name}',
  role: 'operator',
  tag: templateTag,
  summary: 'Change the settings of a template; what is not given stays',
  description: 'They hold from the next swap on.',
  request: { params: templateParams, headers: ifMatchHeaders, body: jsonBody(changeBody) },
  responses: { 200: json(templateSchema, 'Changed') },
})

const remove = defineRoute({
  method: 'delete',
  path: '/templates/{name}',
  role: 'operator',
  tag: templateTag,
  summary: 'Forget a template',
  description:
    'What is on the platform stays there, unless `destroy` is true, which needs `confirm_destroy`. Versions on the ' +
    'shelf belong to their images. Refused while a job is at the template.',
  request: { params: templateParams, headers: ifMatchHeaders, query: destroyQuery },
  responses: {
    202: json(removalSchema, 'Forgotten; jobs destroy what it had'),
    204: { description: 'Forgotten' },
  },
})

const createTemplate = async (tx: Tx, body: TemplateBody, by: string) => {
  const { name, target, folder, image, project, pool, host, network } = body
  const row = await addTemplate(tx, {
    ...{ name, target, folder, image, by, production: body.production ?? name },
    place: { project, pool, host, network },
    keepVersions: body.keep_versions,
    graceSeconds: body.grace_seconds,
    allowDowngrade: body.allow_downgrade,
  })
  return {
    status: 202 as const,
    body: await showTemplate(tx, name),
    headers: { Location: `/v1/templates/${name}`, ETag: etagOf(row.version) },
  }
}

interface Change {
  readonly name: string
  readonly body: z.infer<typeof changeBody>
  readonly ifMatch: string | undefined
  readonly by: string
}

const changeTemplate = async (tx: Tx, { name, body, ifMatch, by }: Change) => {
  const template = await requireTemplate(tx, name)
  requireVersion(ifMatch, template.version)
  const { keep_versions: keepVersions, grace_seconds: graceSeconds, ...rest } = body
  const { allow_downgrade: allowDowngrade, project, pool, host, network } = rest
  await writeTemplateSettings(tx, template.id, {
    ...{ keepVersions, graceSeconds, allowDowngrade },
    ...{ project, pool, host, network },
  })
  await insertAuditEvent(tx, {
    type: 'template.changed',
    subject: { type: 'template', id: template.id },
    actor: by,
    detail: { name, ...body },
  })
  return showTemplate(tx, name)
}

/** `/templates`; the verbs are in template-verbs.ts. */
export const templates = (deps: ApiDeps) =>
  show(deps, list(deps))
    .openapi(create, async (c) => {
      const body = c.req.valid('json')
      const by = c.get('actor').name
      const answer = await once(c, deps, (tx) => createTemplate(tx, body, by))
      nudge(deps.db)
      return c.json(answer.body, 202)
    })
    .openapi(change, async (c) => {
      const { name } = c.req.valid('param')
      const body = c.req.valid('json')
      const by = c.get('actor').name
      const ifMatch = c.req.valid('header')['if-match']
      const changed = (await deps.db.begin((tx) =>
        changeTemplate(tx, { name, body, ifMatch, by }),
      )) as Awaited<ReturnType<typeof changeTemplate>>
      c.header('ETag', etagOf(changed.version))
      return c.json(changed, 200)
    })
    .openapi(remove, async (c) => {
      const { name } = c.req.valid('param')
      const asked = askedRemoval(c.req.valid('query'), {
        ifMatch: c.req.valid('header')['if-match'],
        by: c.get('actor').name,
      })
      const jobs = (await deps.db.begin((tx) => forgetTemplate(tx, { name, ...asked }))) as readonly string[]
      nudge(deps.db)
      return jobs.length === 0 ? c.body(null, 204) : c.json({ jobs: [...jobs] }, 202)
    })

import { z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { Tx } from '../../../../db/client.ts'
import { listVersionLines, readTemplate } from '../../../../db/queries/templates/list-templates.ts'
import type { TemplateRow } from '../../../../db/schema/template.ts'
import { type SwapStep, swapSteps } from '../../../domain/template/swap-step.ts'
import { nudge } from '../../../ledger/jobs/nudge.ts'
import { planUpdate, type UpdatePlan } from '../../../template/ask/plan-update.ts'
import { recoverTemplate, rollBack, wantImage } from '../../../template/ask/want-image.ts'
import type { ApiDeps, ApiEnv } from '../../http/env.ts'
import { once } from '../../http/idempotency.ts'
import { defineRoute, json, jsonBody, newResource } from '../../http/route.ts'
import { pageOf, pageQuery, readCursor, toPage } from '../../wire/page.ts'
import { etagOf } from '../../wire/preconditions.ts'
import { notFound } from '../../wire/problem.ts'
import { showTemplate, templateSchema, versionSchema, viewVersion } from './template-view.ts'
import { imageField, templateParams, templateTag } from './templates.ts'

const accepted = { 202: json(templateSchema, '`job_id` is on the way to what is wanted, or was') }

const update = defineRoute({
  method: 'post',
  path: '/templates/{name}/:verb{:update}',
  role: 'operator',
  tag: templateTag,
  summary: 'Make a template point at another image',
  description:
    'The new one is imported beside the old, and takes its name by two renames. While a swap is under way another ' +
    'image takes the place of the wanted one. Nothing happens where the image is wanted already. Refused after three ' +
    'swaps to the same image have failed in a row.',
  request: {
    params: templateParams,
    body: jsonBody(
      z.strictObject({ image: imageField }).openapi('TemplateUpdate', { example: { image: 'debian-13.2' } }),
    ),
  },
  responses: accepted,
})

const rollback = defineRoute({
  method: 'post',
  path: '/templates/{name}/:verb{:rollback}',
  role: 'operator',
  tag: templateTag,
  summary: 'Make a template point at an image that it pointed at before',
  description:
    'Without a version: what is live while another image is wanted, or else what was live before. A version on the ' +
    'shelf is not uploaded again. It becomes a new version.',
  request: {
    params: templateParams,
    body: {
      required: false,
      content: {
        'application/json': {
          schema: z.strictObject({ version: z.int().min(1).optional() }).openapi('TemplateRollback'),
        },
      },
    },
  },
  responses: accepted,
})

const recover = defineRoute({
  method: 'post',
  path: '/templates/{name}/:verb{:recover}',
  role: 'operator',
  tag: templateTag,
  summary: 'Look at a template on its target again, and put right what was left behind',
  description: 'Harmless where all is well. A job that waits looks again at once.',
  request: { params: templateParams },
  responses: accepted,
})

const stepNames = Object.keys(swapSteps) as SwapStep[]

const planSchema = z
  .object({
    image: z.string(),
    image_id: z.uuid(),
    steps: z
      .array(z.object({ step: z.enum(stepNames), says: z.string() }))
      .openapi({ description: 'In order, if each goes well.' }),
    bytes: z
      .number()
      .nullable()
      .openapi({ description: 'That are sent to the platform; null: not known before the image is read.' }),
    refused: z
      .object({ code: z.string(), message: z.string(), remedy: z.string() })
      .nullable()
      .openapi({ description: 'Why the update would be refused now.' }),
  })
  .openapi('TemplatePlan')

const plan = defineRoute({
  method: 'post',
  path: '/templates/{name}/:verb{:plan}',
  role: 'operator',
  tag: templateTag,
  summary: 'The steps that an update or a rollback would take',
  description: 'By what Drover knows: the platform is not asked, and nothing is changed.',
  request: {
    params: templateParams,
    body: jsonBody(
      z
        .strictObject({
          image: imageField
            .optional()
            .openapi({ description: 'Of an update; without it a rollback is planned.' }),
          version: z.int().min(1).optional().openapi({ description: 'Of a rollback.' }),
        })
        .refine(({ image, version }) => image === undefined || version === undefined, {
          path: ['version'],
          message: 'is for a rollback, which has no image',
        })
        .openapi('TemplatePlanAsk'),
    ),
  },
  responses: { 200: json(planSchema, 'The steps') },
})

const versions = defineRoute({
  method: 'get',
  path: '/templates/{name}/versions',
  role: 'viewer',
  tag: templateTag,
  summary: 'List what a template pointed at, the newest first',
  request: { params: templateParams, query: pageQuery },
  responses: { 200: json(pageOf(versionSchema, 'TemplateVersionPage'), 'A page') },
})

const numberKey = /^[1-9]\d{0,8}$/

export type TemplatePlan = z.infer<typeof planSchema>

const viewPlan = ({ image, steps, bytes, refusal }: UpdatePlan): TemplatePlan => ({
  image: image.name,
  image_id: image.id,
  steps: steps.map((step) => ({ step, says: swapSteps[step] })),
  bytes,
  refused: refusal && { code: refusal.code, message: refusal.message, remedy: refusal.remedy },
})

/** Performs a verb once and answers with the template. */
const doVerb = async (c: Context<ApiEnv>, deps: ApiDeps, work: (tx: Tx) => Promise<TemplateRow>) => {
  const answer = await once(c, deps, async (tx) => {
    const { name, version } = await work(tx)
    return {
      status: 202 as const,
      body: await showTemplate(tx, name),
      headers: { Location: `/v1/templates/${name}`, ETag: etagOf(version) },
    }
  })
  nudge(deps.db)
  return answer.body
}

/** `/templates/{name}/:update`, `:rollback`, `:recover`, `:plan` and `/versions`. */
export const templateVerbs = (deps: ApiDeps) =>
  newResource()
    .openapi(update, async (c) => {
      const ask = { ...c.req.valid('param'), ...c.req.valid('json'), by: c.get('actor').name }
      return c.json(await doVerb(c, deps, (tx) => wantImage(tx, ask)), 202)
    })
    .openapi(rollback, async (c) => {
      const { version } = c.req.valid('json')
      const ask = { ...c.req.valid('param'), version, by: c.get('actor').name }
      return c.json(await doVerb(c, deps, (tx) => rollBack(tx, ask)), 202)
    })
    .openapi(recover, async (c) => {
      const ask = { ...c.req.valid('param'), by: c.get('actor').name }
      return c.json(await doVerb(c, deps, (tx) => recoverTemplate(tx, ask)), 202)
    })
    .openapi(plan, async (c) => {
      const { image, version } = c.req.valid('json')
      const ask = { ...c.req.valid('param'), image, version }
      const answer = await once(c, deps, async (tx) => ({
        status: 200 as const,
        body: viewPlan(await planUpdate(tx, ask)),
      }))
      return c.json(answer.body, 200)
    })
    .openapi(versions, async (c) => {
      const { name } = c.req.valid('param')
      const { limit, cursor } = c.req.valid('query')
      const template = await readTemplate(deps.db, name)
      if (!template) throw notFound('template', name)
      const list = `versions-${template.id}`
      const place = readCursor(list, numberKey, cursor)
      const before = place === undefined ? undefined : Number(place)
      const rows = await listVersionLines(deps.db, template.id, { before, limit: limit + 1 })
      return c.json(
        toPage(rows, { list, limit, key: ({ number }) => String(number), item: viewVersion }),
        200,
      )
    })

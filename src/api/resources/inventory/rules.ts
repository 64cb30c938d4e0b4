import { z } from '@hono/zod-openapi'
import { countFindings } from '../../../../db/queries/instances/assessment.ts'
import { rules as catalogue, rulesVersion } from '../../../domain/inventory/rules/catalogue.ts'
import { severities } from '../../../domain/inventory/rules/rule.ts'
import { nameSchema } from '../../../domain/job/kind.ts'
import type { ApiDeps } from '../../http/env.ts'
import { defineRoute, json, newResource } from '../../http/route.ts'

export const ruleShape = {
  id: z.string(),
  severity: z.enum(severities),
  title: z.string(),
  remedy: z.string(),
  restriction: z.boolean().openapi({ description: 'An entry of a batch waits while it holds.' }),
  waivable: z.boolean(),
  allowance: z
    .string()
    .nullable()
    .openapi({ description: 'The permission of a batch that settles it, such as allow_no_ipv4.' }),
  since: z.string().openapi({ description: 'The version of Drover that has it first.' }),
  broken: z.int().openapi({ description: 'Instances that break it and are not waived.' }),
  waived: z.int(),
}

const list = defineRoute({
  method: 'get',
  path: '/rules',
  role: 'viewer',
  tag: 'Rules',
  summary: 'What decides whether an instance can be migrated, and how many break it',
  request: { query: z.object({ source: nameSchema.optional() }) },
  responses: {
    200: json(
      z
        .object({
          version: z.string().openapi({ description: 'Changes with any rule.' }),
          items: z.array(z.object(ruleShape).openapi('Rule')),
        })
        .openapi('Rules'),
      'Every rule, the gravest first',
    ),
  },
})

interface Counts {
  readonly broken: number
  readonly waived: number
}

/** Every rule with its counts, in the order of the catalogue. */
export const viewRules = (counts: ReadonlyMap<string, Counts>) =>
  catalogue.map(({ id, severity, title, remedy, restriction, waivable, allowance, since }) => ({
    id,
    severity,
    title,
    remedy,
    restriction,
    waivable,
    allowance: allowance ?? null,
    since,
    broken: counts.get(id)?.broken ?? 0,
    waived: counts.get(id)?.waived ?? 0,
  }))

export const rules = (deps: ApiDeps) =>
  newResource().openapi(list, async (c) => {
    const counts = await countFindings(deps.db, c.req.valid('query').source)
    return c.json(
      { version: rulesVersion, items: viewRules(new Map(counts.map((row) => [row.rule, row]))) },
      200,
    )
  })

import { z } from '@hono/zod-openapi'
import {
  countFindings,
  countReadiness,
  findSyncSpan,
  type ReadinessCounts,
} from '../../../../db/queries/instances/assessment.ts'
import {
  type FindingLine,
  findingsByInstance,
  listFindings,
} from '../../../../db/queries/instances/findings.ts'
import { type JudgedLine, listForFilter } from '../../../../db/queries/instances/list-instances.ts'
import { rulesVersion } from '../../../domain/inventory/rules/catalogue.ts'
import { readinesses } from '../../../domain/inventory/rules/evaluate.ts'
import { severities } from '../../../domain/inventory/rules/rule.ts'
import { nameSchema } from '../../../domain/job/kind.ts'
import type { ApiDeps } from '../../http/env.ts'
import type { Slices } from '../../http/filter-turns.ts'
import { defineRoute, json, momentOrNull, newResource } from '../../http/route.ts'
import { type InstanceTest, instanceFilter } from '../../lists/inventory-filter.ts'
import { scan, scanFields, scanShape } from '../../lists/scan.ts'
import { pageOf, pageQuery, readCursor, uuidKey, writeCursor } from '../../wire/page.ts'
import { timestamp } from '../../wire/schemas.ts'
import { streamAssessment } from './assessment-csv.ts'
import { instanceSummary } from './instance-view.ts'
import { filterText, instancePage } from './instances.ts'
import { ruleShape, viewRules } from './rules.ts'

const tag = 'Rules'
const budgetPart = 0.7

const countsShape = {
  instances: z.int(),
  ready: z.int(),
  warning: z.int(),
  blocked: z.int(),
  migrated: z.int().openapi({
    description: 'Beside these: verified copies have taken their place. Always 0 with a filter.',
  }),
}

const assessmentSchema = z
  .object({
    rules_version: z.string(),
    totals: z.object(countsShape),
    sources: z.array(z.object({ source: z.string(), ...countsShape })),
    rules: z.array(z.object(ruleShape)),
    synced: z
      .object({ oldest: timestamp.nullable(), newest: timestamp.nullable(), never: z.int() })
      .openapi({ description: 'How fresh the facts are: the last syncs of the sources.' }),
    ...scanShape,
    next_cursor: z.string().nullable().openapi({
      description: 'Not null: the time of the request was over; ask again with it and add the numbers up.',
    }),
  })
  .openapi('Assessment')

const show = defineRoute({
  method: 'get',
  path: '/assessment',
  role: 'viewer',
  tag,
  summary: 'How ready the fleet is, by source and by rule',
  description:
    'Instances that are gone or ignored do not count. `format=csv`, or `Accept: text/csv`, gives a line for each ' +
    'instance and rule, all of them.',
  request: {
    query: z.object({
      source: nameSchema.optional(),
      filter: filterText,
      format: z.enum(['json', 'csv']).optional(),
      cursor: pageQuery.shape.cursor,
    }),
    headers: z.object({ accept: z.string().max(1_000).optional() }),
  },
  responses: {
    200: {
      description: 'The assessment',
      content: {
        'application/json': { schema: assessmentSchema },
        'text/csv': { schema: z.string() },
      },
    },
  },
})

const assessedInstance = instanceSummary
  .omit({ findings: true })
  .extend({
    findings: z.array(
      z.object({
        rule: z.string(),
        severity: z.enum(severities),
        evidence: z.array(z.string()),
        waived: z.boolean(),
      }),
    ),
  })
  .openapi('AssessedInstance')

const drill = defineRoute({
  method: 'get',
  path: '/assessment/instances',
  role: 'viewer',
  tag,
  summary: 'The instances behind the numbers, with what they break',
  request: {
    query: pageQuery.extend({
      rule: z.string().max(100).optional().openapi({ description: 'That break this rule, waived or not.' }),
      readiness: z.enum(readinesses).optional(),
      source: nameSchema.optional(),
      filter: filterText,
    }),
  },
  responses: {
    200: json(
      pageOf(assessedInstance, 'AssessedInstancePage').extend(scanShape).openapi('AssessedInstancePage'),
      'A page',
    ),
  },
})

interface AssessmentSummary {
  readonly sources: Map<string, { -readonly [Name in keyof ReadinessCounts]: number }>
  readonly rules: Map<string, { broken: number; waived: number }>
}

const countInstance = (summed: AssessmentSummary, row: JudgedLine): void => {
  const counts = summed.sources.get(row.source) ?? {
    instances: 0,
    ready: 0,
    warning: 0,
    blocked: 0,
    migrated: 0,
  }
  summed.sources.set(row.source, counts)
  counts.instances += 1
  counts[row.readiness as (typeof readinesses)[number]] += 1
}

const countFinding = (summed: AssessmentSummary, { rule, waived }: FindingLine): void => {
  const counts = summed.rules.get(rule) ?? { broken: 0, waived: 0 }
  summed.rules.set(rule, counts)
  counts[waived ? 'waived' : 'broken'] += 1
}

const counting = { ignored: false, gone: false, migrated: false } as const

/** With a filter every instance is looked at; without one the database counts. */
const summarizeByFilter = async (
  deps: ApiDeps,
  asked: { source: string | undefined; cursor: string | undefined },
  { test, without }: InstanceTest,
  slices: Slices | undefined,
) => {
  const summed: AssessmentSummary = { sources: new Map(), rules: new Map() }
  let ids: string[] = []
  const outcome = await scan<JudgedLine>({
    clock: deps.clock,
    budgetMs: deps.limits.requestMs * budgetPart,
    slices,
    limit: Number.POSITIVE_INFINITY,
    after: readCursor('assessment', uuidKey, asked.cursor),
    read: (after, limit) =>
      listForFilter(deps.db, { source: asked.source, ...counting }, { after, limit, without }),
    test,
    onMatch: (row) => {
      countInstance(summed, row)
      ids.push(row.id)
    },
    onPage: async () => {
      for (const finding of await listFindings(deps.db, ids)) countFinding(summed, finding)
      ids = []
    },
  })
  return { summed, outcome }
}

const summarizeAll = async (deps: ApiDeps, source: string | undefined) => {
  const [sources, rules] = await Promise.all([
    countReadiness(deps.db, source),
    countFindings(deps.db, source),
  ])
  const summed: AssessmentSummary = {
    sources: new Map(sources.map(({ source: name, ...counts }) => [name, counts])),
    rules: new Map(rules.map((row) => [row.rule, { broken: row.broken, waived: row.waived }])),
  }
  const matched = sources.reduce((sum, { instances }) => sum + instances, 0)
  return { summed, outcome: { matched, scanned: matched, errorCount: 0, errors: [], next: null } }
}

const sum = (all: readonly ReadinessCounts[]): ReadinessCounts =>
  all.reduce(
    (total, one) => ({
      instances: total.instances + one.instances,
      ready: total.ready + one.ready,
      warning: total.warning + one.warning,
      blocked: total.blocked + one.blocked,
      migrated: total.migrated + one.migrated,
    }),
    { instances: 0, ready: 0, warning: 0, blocked: 0, migrated: 0 },
  )

export const assessment = (deps: ApiDeps) =>
  newResource()
    .openapi(show, async (c) => {
      const { source, filter, format, cursor } = c.req.valid('query')
      const actor = c.get('actor').name
      const wantsCsv = /(^|,)\s*text\/csv\b/i.test(c.req.valid('header').accept ?? '')
      if (format === 'csv' || (format === undefined && wantsCsv))
        return await streamAssessment(c, deps, { source, filter })
      const { summed, outcome } = await deps.filters.ask({ actor, filter }, (slices) => {
        const test = instanceFilter(filter)
        return test ? summarizeByFilter(deps, { source, cursor }, test, slices) : summarizeAll(deps, source)
      })
      const sources = [...summed.sources].sort(([a], [b]) => (a < b ? -1 : 1))
      const { oldest, newest, never } = await findSyncSpan(deps.db, source)
      return c.json(
        {
          rules_version: rulesVersion,
          totals: sum([...summed.sources.values()]),
          sources: sources.map(([name, counts]) => ({ source: name, ...counts })),
          rules: viewRules(summed.rules),
          synced: { oldest: momentOrNull(oldest), newest: momentOrNull(newest), never },
          ...scanFields(outcome),
          next_cursor: outcome.next === null ? null : writeCursor('assessment', outcome.next),
        },
        200,
      )
    })
    .openapi(drill, async (c) => {
      const { rule, ...query } = c.req.valid('query')
      const page = await instancePage(
        deps,
        { ...query, ignored: 'false', gone: 'false', migrated: 'false' },
        { list: `assessment-${rule ?? 'all'}`, actor: c.get('actor').name, rule },
      )
      const ids = page.items.map(({ id }) => id)
      const findings = await findingsByInstance(deps.db, ids)
      const items = page.items.map((item) => ({
        ...item,
        findings: (findings.get(item.id) ?? []).map((finding) => ({
          rule: finding.rule,
          severity: finding.severity,
          evidence: [...finding.evidence],
          waived: finding.waived,
        })),
      }))
      return c.json({ ...page, items }, 200)
    })

import { z } from '@hono/zod-openapi'
import { type BatchCandidate, listBatchCandidates } from '../../../db/queries/list-batch-candidates.ts'
import type { BatchRow } from '../../../db/schema/migration.ts'
import { type CompiledFilter, compileFilter } from '../../domain/inventory/filter/compile-filter.ts'
import { instanceView } from '../../domain/inventory/filter/view.ts'
import { applyOverrides } from '../../domain/inventory/overrides.ts'
import { type BatchConfig, batchConfig } from '../../domain/migration/batch-settings.ts'
import { entryStates } from '../../domain/migration/entry.ts'
import { batchBlocks } from '../../domain/migration/start-batch.ts'
import { findingsOf } from '../../migration/findings-of.ts'
import type { ApiDeps } from '../env.ts'
import { pageOf, pageQuery, readCursor, uuidKey, writeCursor } from '../page.ts'
import { defineRoute, json, newResource } from '../route.ts'
import { scan } from '../scan.ts'
import { batchParams, batchTag, requireBatch } from './batches.ts'
import { scanFields, scanShape } from './instances.ts'

const standings = ['matched', 'blocked', 'excluded'] as const
type Standing = (typeof standings)[number]

const memberSchema = z
  .object({
    id: z.uuid(),
    name: z.string(),
    source: z.string(),
    standing: z.enum(standings).openapi({
      description: '`blocked`: it belongs to the batch, and its entry waits until the reasons are gone.',
    }),
    reasons: z.array(z.object({ code: z.string(), message: z.string() })),
    entry: z.object({ id: z.uuid(), state: z.enum(entryStates) }).nullable(),
  })
  .openapi('BatchInstance')

type Member = z.infer<typeof memberSchema>

const list = defineRoute({
  method: 'get',
  path: '/batches/{name}/instances',
  role: 'viewer',
  tag: batchTag,
  summary: 'Which instances belong to a batch, which do not, and why',
  description:
    'Asks the include expression now. A page may hold fewer than `limit` while `next_cursor` is not null: the time of ' +
    'the request was over; go on with the cursor.',
  request: {
    params: batchParams,
    query: pageQuery.extend({
      standing: z
        .enum([...standings, 'any'])
        .default('any')
        .openapi({ description: 'Only these.' }),
    }),
  },
  responses: {
    200: json(
      pageOf(memberSchema, 'BatchInstancePage').extend(scanShape).openapi('BatchInstancePage'),
      'A page',
    ),
  },
})

interface Question {
  readonly batch: BatchRow
  readonly config: BatchConfig
  readonly filter: CompiledFilter
}

/** Where an instance stands to a batch, with every reason. Throws where the expression cannot be asked about it. */
const judge = (line: BatchCandidate, { batch, config, filter }: Question): Member => {
  const facts = applyOverrides(line.facts, line.overrides)
  const outcome = filter.run(
    instanceView({
      facts,
      source: line.source,
      source_kind: line.sourceKind,
      readiness: line.readiness,
      findings: line.findings.map(({ rule }) => rule),
    }),
  )
  if ('error' in outcome) throw new Error(outcome.error)
  const out = [
    ...(outcome.match ? [] : [{ code: 'no-match', message: 'The include expression does not match it.' }]),
    ...(line.ignored === null
      ? []
      : [{ code: 'ignored', message: line.ignoredDetail || `It is left out: ${line.ignored}.` }]),
    ...(line.entryBatch === null || line.entryBatch === batch.name
      ? []
      : [{ code: 'in-other-batch', message: `It is in the queue of the batch ${line.entryBatch}.` }]),
  ]
  const blocks = batchBlocks(findingsOf(line.findings), config.instance_restriction_overrides)
  const mine = line.entryBatch === batch.name && line.entryId !== null
  const standing: Standing = out.length > 0 && !mine ? 'excluded' : blocks.length > 0 ? 'blocked' : 'matched'
  return {
    id: line.id,
    name: facts.name,
    source: line.source,
    standing,
    reasons: [...out, ...blocks],
    entry:
      line.entryId !== null && mine
        ? { id: line.entryId, state: line.entryState as (typeof entryStates)[number] }
        : null,
  }
}

const budgetPart = 0.5

/** `/batches/{name}/instances`. */
export const batchMembers = (deps: ApiDeps) =>
  newResource().openapi(list, async (c) => {
    const { limit, cursor, standing } = c.req.valid('query')
    const batch = await requireBatch(deps.db, c.req.valid('param').name)
    const { probes: _probes, ...config } = batch.config
    const question = {
      batch,
      config: batchConfig.parse(config),
      filter: compileFilter(batch.includeExpression, 'instance'),
    }
    const listName = `members-${batch.name}`
    const items: Member[] = []
    let judged: Member | undefined
    const outcome = await scan<BatchCandidate>({
      clock: deps.clock,
      budgetMs: deps.limits.requestMs * budgetPart,
      limit,
      after: readCursor(listName, uuidKey, cursor),
      read: (after, rows) => listBatchCandidates(deps.db, { after, limit: rows }),
      test: (row) => {
        judged = judge(row, question)
        return standing === 'any' || judged.standing === standing
      },
      onMatch: () => {
        if (judged) items.push(judged)
      },
    })
    const next = outcome.next === null ? null : writeCursor(listName, outcome.next)
    return c.json({ items, next_cursor: next, ...scanFields(outcome) }, 200)
  })

import { z } from '@hono/zod-openapi'
import {
  type BatchCandidate,
  listBatchCandidates,
} from '../../../../db/queries/batches/list-batch-candidates.ts'
import type { BatchRow } from '../../../../db/schema/migration.ts'
import { type CompiledFilter, compileFilter } from '../../../domain/filter/compile-filter.ts'
import { instanceView } from '../../../domain/filter/view.ts'
import { applyOverrides } from '../../../domain/inventory/overrides.ts'
import {
  type BatchConfig,
  batchConfig,
  batchDefaults,
} from '../../../domain/migration/batch/batch-settings.ts'
import { type StartAsk, startEntry } from '../../../domain/migration/batch/start-batch.ts'
import { entryStates } from '../../../domain/migration/entry/entry.ts'
import { findingsOf } from '../../../migration/entry/findings-of.ts'
import type { ApiDeps } from '../../http/env.ts'
import { defineRoute, json, newResource } from '../../http/route.ts'
import { scan, scanFields, scanShape } from '../../lists/scan.ts'
import { pageOf, pageQuery, readCursor, uuidKey, writeCursor } from '../../wire/page.ts'
import { batchParams, batchTag, requireBatch } from './batches.ts'

const standings = ['matched', 'blocked', 'conflict', 'excluded'] as const

const memberSchema = z
  .object({
    id: z.uuid(),
    name: z.string(),
    source: z.string(),
    standing: z.enum(standings).openapi({
      description:
        '`blocked`: it belongs to the batch, and its entry waits until the reasons are gone. `conflict`: its entry ' +
        'waits for a person; it belonged to the batch when that was last saved, and no longer matches.',
    }),
    reasons: z.array(z.object({ code: z.string(), message: z.string() })),
    entry: z.object({ id: z.uuid(), state: z.enum(entryStates) }).nullable(),
  })
  .openapi('BatchInstance')

export type Member = z.infer<typeof memberSchema>

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
  /** `force_conflict_resolution` of the batch. */
  readonly force: boolean
  readonly filter: CompiledFilter
}

/** Where an instance stands to a batch, with every reason. Throws where the expression cannot be asked about it. */
const judge = (line: BatchCandidate, question: Question): Member => {
  const { batch, filter } = question
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
  const mine = line.entryId !== null && line.entryBatch === batch.name
  if ('error' in outcome && !mine && !line.assigned) throw new Error(outcome.error)
  const matches = 'match' in outcome ? outcome.match : { problem: outcome.error }
  return {
    id: line.id,
    name: facts.name,
    source: line.source,
    ...standingOf(line, { matches, mine }, question),
    entry:
      line.entryId !== null && mine
        ? { id: line.entryId, state: line.entryState as (typeof entryStates)[number] }
        : null,
  }
}

const standingOf = (
  line: BatchCandidate,
  { matches, mine }: { readonly matches: StartAsk['matches']; readonly mine: boolean },
  { config, force }: Question,
): Pick<Member, 'standing' | 'reasons'> => {
  // Those that never belonged to it get no entry, whatever a start would say of them.
  const stranger = !mine && !line.assigned
  const elsewhere = !mine && line.entryBatch !== null
  const begun = startEntry({
    matches: stranger || matches,
    gone: line.gone,
    migrated: line.migrated && !mine,
    ignored: line.ignored === null ? null : line.ignoredDetail || line.ignored,
    findings: findingsOf(line.findings),
    allowances: config.instance_restriction_overrides,
    // Of an entry that goes on the expression is asked no more.
    force: force || (mine && line.entryState !== 'conflict'),
    running: line.facts.running,
    overrides: line.overrides,
  })
  const reasons = [
    ...(stranger && matches !== true
      ? [{ code: 'no-match', message: 'The include expression does not match it.' }]
      : []),
    ...(elsewhere
      ? [{ code: 'in-other-batch', message: `It is in the queue of the batch ${line.entryBatch}.` }]
      : []),
    ...begun.reasons.map(({ code, message }) => ({ code, message })),
  ]
  if (elsewhere || (line.migrated && !mine) || (stranger && (matches !== true || line.ignored !== null)))
    return { standing: 'excluded', reasons }
  if (begun.state === 'conflict' || (mine && line.entryState === 'conflict'))
    return { standing: 'conflict', reasons }
  return { standing: begun.state === 'blocked' ? 'blocked' : 'matched', reasons }
}

const budgetPart = 0.5

/** `/batches/{name}/instances`. */
export const batchInstanceRoutes = (deps: ApiDeps) =>
  newResource().openapi(list, async (c) => {
    const { limit, cursor, standing } = c.req.valid('query')
    const batch = await requireBatch(deps.db, c.req.valid('param').name)
    const { probes: _probes, ...config } = batch.config
    const asked = {
      batch,
      config: batchConfig.parse(config),
      force: batchDefaults.parse(batch.defaults).force_conflict_resolution,
    }
    const listName = `members-${batch.name}`
    const items: Member[] = []
    let judged: Member | undefined
    const actor = c.get('actor').name
    const outcome = await deps.filters.ask({ actor, filter: batch.includeExpression }, (slices) => {
      const question = { ...asked, filter: compileFilter(batch.includeExpression, 'instance') }
      return scan<BatchCandidate>({
        clock: deps.clock,
        budgetMs: deps.limits.requestMs * budgetPart,
        slices,
        limit,
        after: readCursor(listName, uuidKey, cursor),
        read: (after, rows) => listBatchCandidates(deps.db, batch.id, { after, limit: rows }),
        test: (row) => {
          judged = judge(row, question)
          return standing === 'any' || judged.standing === standing
        },
        onMatch: () => {
          if (judged) items.push(judged)
        },
      })
    })
    const next = outcome.next === null ? null : writeCursor(listName, outcome.next)
    return c.json({ items, next_cursor: next, ...scanFields(outcome) }, 200)
  })

import { z } from '@hono/zod-openapi'
import type { Queryable } from '../../../../db/client.ts'
import { readSignals } from '../../../../db/queries/jobs/read-signals.ts'
import {
  listOperations,
  type OperationFilter,
  type OperationLine,
  readOperation,
} from '../../../../db/queries/operations/list-operations.ts'
import { findOperationsOfJobs } from '../../../../db/queries/operations/operations-of-jobs.ts'
import { explainTokenWait } from '../../../../db/queries/tokens/explain-token-wait.ts'
import { readAdmissionLimits } from '../../../../db/queries/tokens/tokens.ts'
import { limits } from '../../../config/config.ts'
import { nameSchema } from '../../../domain/job/kind.ts'
import { tokenLimit } from '../../../domain/job/token.ts'
import { operationKinds } from '../../../domain/operation/kinds/kinds.ts'
import { operationMatrix } from '../../../domain/operation/kinds/matrix.ts'
import { operationStates } from '../../../domain/operation/kinds/state.ts'
import type { ApiDeps } from '../../http/env.ts'
import type { Slices } from '../../http/filter-turns.ts'
import { defineRoute, idParams, json, newResource } from '../../http/route.ts'
import { scanFields, scanShape } from '../../lists/scan.ts'
import { wholePage } from '../../lists/whole-page.ts'
import { pageOf, pageQuery } from '../../wire/page.ts'
import { problem } from '../../wire/problem.ts'
import { listQuery } from '../../wire/schemas.ts'
import { operationFilter } from './operation-filter.ts'
import {
  conditionsSchema,
  operationCause,
  operationKind,
  operationReason,
  operationSchema,
  type SlotView,
  viewConditions,
  viewOperation,
} from './operation-view.ts'

export const operationTag = 'Operations'

const viewQuery = z
  .enum(['conditions'])
  .optional()
  .openapi({ description: '`conditions`: as tools read it that know a phase and conditions.' })

/** As many as a page holds, and as an address has room for. */
const idsQuery = z
  .string()
  .max(limits.pageMax * 37)
  .transform((text) => text.split(','))
  .pipe(z.array(z.uuid()).max(limits.pageMax))
  .optional()
  .openapi({ type: 'string', description: `Exactly these, comma-separated: at most ${limits.pageMax}.` })

const list = defineRoute({
  method: 'get',
  path: '/operations',
  role: 'viewer',
  tag: operationTag,
  summary: 'List operations, the newest first',
  description:
    'With a filter a page may hold fewer than `limit`, or none, while `next_cursor` is not null: the time of the ' +
    'request was over; go on with the cursor.',
  request: {
    query: pageQuery.extend({
      machine: z.string().min(1).max(255).optional().openapi({ description: 'An id or a name.' }),
      target: nameSchema.optional(),
      ids: idsQuery,
      kind: listQuery(operationKinds),
      state: listQuery(operationStates),
      reason: operationReason.optional(),
      cause: operationCause.optional(),
      since: z.iso.datetime({ offset: true }).optional().openapi({ description: 'Made then or later.' }),
      filter: z.string().max(4_096).optional().openapi({
        description: 'CEL over the fields of an operation.',
        example: 'state == "failed" && retryable',
      }),
      view: viewQuery,
    }),
  },
  responses: {
    200: json(
      z.union([
        pageOf(operationSchema, 'OperationPage').extend(scanShape).openapi('OperationPage'),
        pageOf(conditionsSchema, 'OperationConditionsPage')
          .extend(scanShape)
          .openapi('OperationConditionsPage'),
      ]),
      'A page',
    ),
  },
})

const show = defineRoute({
  method: 'get',
  path: '/operations/{id}',
  role: 'viewer',
  tag: operationTag,
  summary: 'Show an operation: where it is, why, what it waits for and who is in the way',
  request: { params: idParams, query: z.object({ view: viewQuery }) },
  responses: { 200: json(z.union([operationSchema, conditionsSchema]), 'The operation') },
})

const variant = z.object({ kind: operationKind, force: z.boolean() })

const matrix = defineRoute({
  method: 'get',
  path: '/operations/matrix',
  role: 'viewer',
  tag: operationTag,
  summary: 'Which newer operations take the place of which older ones',
  description: 'Every pair there is. `refuse`: the newer is refused, or waits with `on_conflict: queue`.',
  request: {},
  responses: {
    200: json(
      z
        .object({
          pairs: z.array(
            z.object({ older: variant, newer: variant, outcome: z.enum(['supersede', 'refuse']) }),
          ),
        })
        .openapi('OperationMatrix'),
      'All pairs',
    ),
  },
})

export const requireOperation = async (
  db: Queryable,
  id: string,
  silentMs: number,
): Promise<OperationLine> => {
  const line = await readOperation(db, id, silentMs)
  if (!line) throw problem('operation-absent', `There is no operation ${id}.`)
  return line
}

/** What it needs to hold, with who holds it by name. */
export const readSlots = async (db: Queryable, line: OperationLine): Promise<SlotView[] | null> => {
  if (line.shownReason !== 'awaiting-slot' || line.jobId === null) return null
  const lines = await explainTokenWait(db, line.jobId)
  const limits = await readAdmissionLimits(db)
  const holders = await findOperationsOfJobs(db, [...new Set(lines.flatMap((one) => one.holders))])
  return lines.map(({ holders: jobs, ...one }) => ({
    ...one,
    limit: tokenLimit(one.token, limits),
    holders: holders
      .filter(({ jobId }) => jobs.includes(jobId))
      .map(({ jobId, operationId, machine }) => ({ job_id: jobId, operation_id: operationId, machine })),
  }))
}

/** As tools read them that know conditions: what they want to know beside the row is read for them alone. */
const readConditions = async (db: Queryable, lines: readonly OperationLine[]) => {
  const jobs = lines.map(({ jobId }) => jobId).filter((id) => id !== null)
  const signals = await readSignals(db, jobs)
  return (line: OperationLine) =>
    viewConditions(line, line.jobId === null ? nothingAsked : (signals.get(line.jobId) ?? null))
}

const nothingAsked = { attempted: false, acceptedAt: null }
interface ListAsk extends Omit<OperationFilter, 'since'> {
  readonly limit: number
  readonly cursor?: string | undefined
  readonly since?: string | undefined
  readonly filter?: string | undefined
}

const operationPage = async (
  deps: ApiDeps,
  { limit, cursor, since, filter, ...asked }: ListAsk,
  slices: Slices | undefined,
) => {
  const choice = { ...asked, since: since === undefined ? undefined : new Date(since) }
  const { outcome, ...page } = await wholePage<OperationLine, OperationLine>(
    deps,
    { limit, cursor },
    {
      name: 'operations',
      read: (before, rows) =>
        listOperations(deps.db, choice, { before, limit: rows, silentMs: deps.leaseMs }),
      test: operationFilter(filter),
      slices,
      item: (line) => line,
    },
  )
  return { ...page, ...scanFields(outcome) }
}

/** `/operations` as they are read; what makes and ends them is in files of its own. */
export const operations = (deps: ApiDeps) =>
  newResource()
    .openapi(matrix, (c) =>
      c.json({ pairs: operationMatrix.map(({ older, newer, outcome }) => ({ older, newer, outcome })) }, 200),
    )
    .openapi(list, async (c) => {
      const { view, ...query } = c.req.valid('query')
      const asked = { actor: c.get('actor').name, filter: query.filter }
      const page = await deps.filters.ask(asked, (slices) => operationPage(deps, query, slices))
      if (view !== 'conditions')
        return c.json({ ...page, items: page.items.map((line) => viewOperation(line)) }, 200)
      const asConditions = await readConditions(deps.db, page.items)
      return c.json({ ...page, items: page.items.map(asConditions) }, 200)
    })
    .openapi(show, async (c) => {
      const line = await requireOperation(deps.db, c.req.valid('param').id, deps.leaseMs)
      if (c.req.valid('query').view === 'conditions') {
        const view = await readConditions(deps.db, [line])
        return c.json(view(line), 200)
      }
      return c.json(viewOperation(line, await readSlots(deps.db, line)), 200)
    })

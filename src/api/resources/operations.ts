import { z } from '@hono/zod-openapi'
import type { Queryable } from '../../../db/client.ts'
import { explainTokenWait } from '../../../db/queries/explain-token-wait.ts'
import { listOperations, type OperationLine, readOperation } from '../../../db/queries/list-operations.ts'
import { findOperationsOfJobs } from '../../../db/queries/operations-of-jobs.ts'
import { readSignals } from '../../../db/queries/read-signals.ts'
import { readAdmissionLimits } from '../../../db/queries/tokens.ts'
import { tokenLimit } from '../../domain/job/token.ts'
import { operationKinds } from '../../domain/operation/kinds.ts'
import { operationMatrix } from '../../domain/operation/matrix.ts'
import { operationStates } from '../../domain/operation/state.ts'
import type { ApiDeps } from '../env.ts'
import { pageOf, pageQuery, readCursor, toPage, uuidKey } from '../page.ts'
import { problem } from '../problem.ts'
import { defineRoute, idParams, json, newResource } from '../route.ts'
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
import { listQuery } from './schemas.ts'

export const operationTag = 'Operations'

const viewQuery = z
  .enum(['conditions'])
  .optional()
  .openapi({ description: '`conditions`: as tools read it that know a phase and conditions.' })

const list = defineRoute({
  method: 'get',
  path: '/operations',
  role: 'viewer',
  tag: operationTag,
  summary: 'List operations, the newest first',
  request: {
    query: pageQuery.extend({
      machine: z.string().min(1).max(255).optional().openapi({ description: 'An id or a name.' }),
      kind: listQuery(operationKinds),
      state: listQuery(operationStates),
      reason: operationReason.optional(),
      cause: operationCause.optional(),
      since: z.iso.datetime({ offset: true }).optional().openapi({ description: 'Made then or later.' }),
      view: viewQuery,
    }),
  },
  responses: {
    200: json(
      z.union([
        pageOf(operationSchema, 'OperationPage'),
        pageOf(conditionsSchema, 'OperationConditionsPage'),
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

/** `/operations` as they are read; what makes and ends them is in files of its own. */
export const operations = (deps: ApiDeps) =>
  newResource()
    .openapi(matrix, (c) =>
      c.json({ pairs: operationMatrix.map(({ older, newer, outcome }) => ({ older, newer, outcome })) }, 200),
    )
    .openapi(list, async (c) => {
      const { limit, cursor, view, since, ...filter } = c.req.valid('query')
      const before = readCursor('operations', uuidKey, cursor)
      const rows = await listOperations(
        deps.db,
        { ...filter, since: since === undefined ? undefined : new Date(since) },
        { before, limit: limit + 1, silentMs: deps.leaseMs },
      )
      const page = { list: 'operations', limit, key: (row: OperationLine) => row.id }
      if (view === 'conditions')
        return c.json(toPage(rows, { ...page, item: await readConditions(deps.db, rows) }), 200)
      return c.json(toPage(rows, { ...page, item: (row) => viewOperation(row) }), 200)
    })
    .openapi(show, async (c) => {
      const line = await requireOperation(deps.db, c.req.valid('param').id, deps.leaseMs)
      if (c.req.valid('query').view === 'conditions') {
        const view = await readConditions(deps.db, [line])
        return c.json(view(line), 200)
      }
      return c.json(viewOperation(line, await readSlots(deps.db, line)), 200)
    })

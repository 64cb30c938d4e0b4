import { z } from '@hono/zod-openapi'
import type { Tx } from '../../../../db/client.ts'
import { findOperation } from '../../../../db/queries/operations/operation-rows.ts'
import { findOperationsOfJobs } from '../../../../db/queries/operations/operations-of-jobs.ts'
import type { OperationRow } from '../../../../db/schema/operation.ts'
import { explainRetryRefusal, type RetryRefusal } from '../../../domain/job/explain/retry-refusal.ts'
import { hasEnded } from '../../../domain/operation/kinds/state.ts'
import { cancelInTransaction, nudgeCancel } from '../../../ledger/jobs/cancel.ts'
import { nudge } from '../../../ledger/jobs/nudge.ts'
import { type RedriveOutcome, redriveInTransaction } from '../../../ledger/jobs/redrive.ts'
import { cancelOperation } from '../../../operation/admission/cancel-operation.ts'
import type { ApiDeps } from '../../http/env.ts'
import { once } from '../../http/idempotency.ts'
import { defineRoute, idParams, json, newResource } from '../../http/route.ts'
import { notFound, problem } from '../../wire/problem.ts'
import { jobStateSchema, reasonText } from '../../wire/schemas.ts'

const tag = 'Jobs'

const retry = defineRoute({
  method: 'post',
  path: '/jobs/{id}/:verb{:retry}',
  role: 'operator',
  tag,
  summary: 'Run a failed or canceled job again',
  description: 'Starts a new generation with fresh budgets. What earlier tries left outside is adopted.',
  request: { params: idParams },
  responses: {
    202: json(
      z.object({ id: z.uuid(), state: z.literal('ready'), generation: z.int() }).openapi('RetriedJob'),
      'It is ready to run again',
    ),
  },
})

const cancel = defineRoute({
  method: 'post',
  path: '/jobs/{id}/:verb{:cancel}',
  role: 'operator',
  tag,
  summary: 'Cancel a job',
  description:
    'A job that nobody runs ends at once (`canceled`). One that runs, or left effects outside, is asked to end ' +
    '(`requested`): its worker undoes what it did first.',
  request: {
    params: idParams,
    body: {
      required: false,
      content: { 'application/json': { schema: z.strictObject({ reason: reasonText.optional() }) } },
    },
  },
  responses: {
    202: json(
      z
        .object({ id: z.uuid(), outcome: z.enum(['canceled', 'requested']), state: jobStateSchema })
        .openapi('CanceledJob'),
      'It is canceled, or was asked to end',
    ),
  },
})

/** `/jobs/{id}/:retry` and `/jobs/{id}/:cancel`. */
export const jobVerbs = (deps: ApiDeps) =>
  newResource()
    .openapi(retry, async (c) => {
      const { id } = c.req.valid('param')
      const by = c.get('actor').name
      const answer = await once(c, deps, async (tx) => {
        const outcome = await redriveInTransaction(tx, id, { by })
        if (outcome.outcome !== 'ready') throw notRetried(id, outcome.outcome)
        return {
          status: 202 as const,
          body: { id, state: 'ready' as const, generation: outcome.generation },
          headers: { Location: `/v1/jobs/${id}` },
        }
      })
      nudge(deps.db)
      return c.json(answer.body, 202)
    })
    .openapi(cancel, async (c) => {
      const { id } = c.req.valid('param')
      const { reason } = c.req.valid('json')
      const by = c.get('actor').name
      const answer = await once(c, deps, async (tx) => {
        const why = reason ?? 'canceled by a person'
        const operation = await operationOf(tx, id)
        // It has its own rules for when it may be given up, and its own record of who did.
        const done =
          operation && !hasEnded(operation.state)
            ? ((await cancelOperation(tx, { id: operation.id, by })).canceled ?? {
                outcome: 'canceled' as const,
              })
            : await cancelInTransaction(tx, id, { by, reason: why })
        if (done.outcome === 'not-found') throw notFound('job', id)
        if (done.outcome === 'ended')
          throw problem('job-ended', `The job has ended as ${done.state}; there is nothing to cancel.`)
        return {
          status: 202 as const,
          body: { id, outcome: done.outcome, state: done.state ?? ('canceled' as const) },
          headers: { Location: `/v1/jobs/${id}` },
        }
      })
      nudgeCancel(deps.db, answer.body)
      return c.json(answer.body, 202)
    })

/** The operation that a job does, if it does one. */
const operationOf = async (tx: Tx, jobId: string): Promise<OperationRow | undefined> => {
  const [held] = await findOperationsOfJobs(tx, [jobId])
  return held?.operationId == null ? undefined : await findOperation(tx, held.operationId)
}

const moot = (code: 'job-in-debt' | 'operation-ended' | 'job-moot', why: RetryRefusal) => {
  const { message, remedy } = explainRetryRefusal(why)
  return problem(code, message, { remedy })
}

const notRetried = (id: string, why: Exclude<RedriveOutcome['outcome'], 'ready'>) => {
  switch (why) {
    case 'not-found':
      return notFound('job', id)
    case 'succeeded':
      return problem('job-succeeded', 'The job has succeeded and is not run again.')
    case 'not-ended':
      return problem('job-not-ended', 'The job has not ended, so there is nothing to run again.')
    case 'job-in-debt':
    case 'operation-ended':
      return moot(why, why)
    case 'entry-moved-on':
    case 'site-absent':
    case 'instance-absent':
    case 'template-moved-on':
    case 'image-absent':
      return moot('job-moot', why)
  }
}

import { z } from '@hono/zod-openapi'
import { readClock } from '../../../../db/queries/fleet/read-clock.ts'
import { nudge } from '../../../ledger/jobs/nudge.ts'
import { resetBatch, startBatchNow, stopBatch } from '../../../migration/batch/batch-verbs.ts'
import type { ApiDeps } from '../../http/env.ts'
import { once } from '../../http/idempotency.ts'
import { defineRoute, json, newResource } from '../../http/route.ts'
import { etagOf } from '../../wire/preconditions.ts'
import { confirmFinished } from '../../wire/schemas.ts'
import { batchSchema, readBatch } from './batch-view.ts'
import { batchParams, batchTag } from './batches.ts'

const start = defineRoute({
  method: 'post',
  path: '/batches/{name}/:verb{:start}',
  role: 'operator',
  tag: batchTag,
  summary: 'Start a batch, or let a stopped one go on where it was',
  description:
    'A job makes the entries: one for each instance that matches and is in no other started batch. An instance that ' +
    'matched when the batch was defined and no longer does gets an entry in `conflict`.',
  request: { params: batchParams },
  responses: {
    202: json(
      z.object({ job_id: z.uuid(), batch: batchSchema }).openapi('BatchStarted'),
      'It runs; `Location` is the job that makes its entries',
    ),
  },
})

const stop = defineRoute({
  method: 'post',
  path: '/batches/{name}/:verb{:stop}',
  role: 'operator',
  tag: batchTag,
  summary: 'Stop a batch: its work lets go at the next safe point',
  description:
    'Nothing is undone, and a start goes on from there. A source that is off for its cutover stays off until its ' +
    'window ends.',
  request: { params: batchParams },
  responses: { 200: json(batchSchema, 'Stopped') },
})

const reset = defineRoute({
  method: 'post',
  path: '/batches/{name}/:verb{:reset}',
  role: 'operator',
  tag: batchTag,
  summary: 'Throw the entries of a batch away, with what they made',
  description:
    'Finished machines stay, and their sources stay off; but that this batch has migrated them is forgotten, which ' +
    'needs `confirm_finished`. Sources that were switched off are started again, once their copies are proved off. ' +
    'Needs `force` while entries are committed: hours of work are lost.',
  request: {
    params: batchParams,
    query: z.object({ force: z.enum(['true', 'false']).optional() }),
    body: {
      required: false,
      content: {
        'application/json': {
          schema: z
            .strictObject({ force: z.boolean().default(false), confirm_finished: confirmFinished.body })
            .openapi('BatchReset'),
        },
      },
    },
  },
  responses: {
    202: json(
      z
        .object({
          entries: z.int().openapi({ description: 'How many are to go; the scheduler does it, one by one.' }),
          batch: batchSchema,
        })
        .openapi('BatchResetting'),
      'It is defined again; its entries go one by one',
    ),
  },
})

/** `/batches/{name}/:start`, `:stop` and `:reset`. */
export const batchVerbs = (deps: ApiDeps) =>
  newResource()
    .openapi(start, async (c) => {
      const { name } = c.req.valid('param')
      const by = c.get('actor').name
      const answer = await once(c, deps, async (tx) => {
        const { batch, jobId } = await startBatchNow(tx, { name, by, now: await readClock(tx) })
        return {
          status: 202 as const,
          body: { job_id: jobId, batch: await readBatch(tx, batch) },
          headers: { Location: `/v1/jobs/${jobId}`, ETag: etagOf(batch.version) },
        }
      })
      nudge(deps.db)
      return c.json(answer.body, 202)
    })
    .openapi(stop, async (c) => {
      const { name } = c.req.valid('param')
      const by = c.get('actor').name
      const answer = await once(c, deps, async (tx) => {
        const batch = await stopBatch(tx, { name, by, now: await readClock(tx) })
        return {
          status: 200 as const,
          body: await readBatch(tx, batch),
          headers: { ETag: etagOf(batch.version) },
        }
      })
      return c.json(answer.body, 200)
    })
    .openapi(reset, async (c) => {
      const { name } = c.req.valid('param')
      const { confirm_finished: confirmed } = c.req.valid('json')
      const force = c.req.valid('query').force === 'true' || c.req.valid('json').force === true
      const by = c.get('actor').name
      const answer = await once(c, deps, async (tx) => {
        const now = await readClock(tx)
        const done = await resetBatch(tx, { name, by, force, confirmedFinished: confirmed, now })
        return {
          status: 202 as const,
          body: { entries: done.entries, batch: await readBatch(tx, done.batch) },
          headers: { ETag: etagOf(done.batch.version) },
        }
      })
      nudge(deps.db)
      return c.json(answer.body, 202)
    })

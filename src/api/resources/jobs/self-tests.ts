import { z } from '@hono/zod-openapi'
import { v7 as uuidv7 } from 'uuid'
import type { Tx } from '../../../../db/client.ts'
import { insertAuditEvent } from '../../../../db/queries/events/insert-audit-event.ts'
import { countLane } from '../../../../db/queries/jobs/count-jobs.ts'
import { jobStates } from '../../../domain/job/state.ts'
import { enqueue, type NewJob } from '../../../ledger/jobs/enqueue.ts'
import { nudge } from '../../../ledger/jobs/nudge.ts'
import type { ApiDeps } from '../../http/env.ts'
import { once } from '../../http/idempotency.ts'
import { defineRoute, json, jsonBody, momentOrNull, newResource } from '../../http/route.ts'
import { notFound } from '../../wire/problem.ts'
import { laneName, timestamp } from '../../wire/schemas.ts'

const tag = 'Self-tests'
const jobsMax = 20_000
const lanePrefix = 'batch/self-test-'

const newSelfTest = z
  .strictObject({
    jobs: z.int().min(1).max(jobsMax).default(100),
    failing: z
      .int()
      .min(0)
      .max(jobsMax)
      .default(0)
      .openapi({ description: 'How many of them end as failed.' }),
    failing_once: z
      .int()
      .min(0)
      .max(jobsMax)
      .default(0)
      .openapi({ description: 'How many of them fail the first try and succeed the second.' }),
    steps: z.int().min(0).max(1_000).default(0),
    step_ms: z.int().min(0).max(60_000).default(0),
    effects: z.int().min(0).max(100).default(0),
    priority: z.int().min(-100).max(100).default(0),
  })
  .refine((body) => body.failing + body.failing_once <= body.jobs, {
    path: ['failing'],
    message: 'failing and failing_once together must not be more than jobs',
  })
  .openapi('NewSelfTest', { example: { jobs: 100, failing: 2, failing_once: 5, steps: 3, step_ms: 200 } })

const create = defineRoute({
  method: 'post',
  path: '/self-tests',
  role: 'operator',
  tag,
  summary: 'Run a batch of jobs that touch nothing',
  description: 'Goes the whole way of a job: commit, bell, claim, progress, effects, outcome.',
  request: { body: jsonBody(newSelfTest) },
  responses: {
    202: json(
      z.object({ lane: z.string(), jobs: z.int() }).openapi('AcceptedSelfTest'),
      'Committed. `Location` shows how far it is.',
    ),
  },
})

const show = defineRoute({
  method: 'get',
  path: '/self-tests/{lane}',
  role: 'viewer',
  tag,
  summary: 'How far a self-test is',
  request: { params: z.object({ lane: laneName.openapi({ example: 'batch/self-test-0199c0de' }) }) },
  responses: {
    200: json(
      z
        .object({
          lane: z.string(),
          jobs: z.int(),
          ended: z.int(),
          counts: z.record(z.string(), z.int()),
          done: z.boolean(),
          started_at: timestamp.nullable(),
          finished_at: timestamp.nullable(),
        })
        .openapi('SelfTest'),
      'Counts by state',
    ),
  },
})

const jobsOf = (body: z.infer<typeof newSelfTest>, lane: string, createdBy: string): NewJob[] => {
  const { jobs, failing, failing_once: failingOnce, priority, ...work } = body
  const outcome = (at: number) =>
    at < failing ? 'fail' : at < failing + failingOnce ? 'fail-once' : 'succeed'
  return Array.from({ length: jobs }, (_, at) => ({
    kind: 'self-test',
    payload: { ...work, outcome: outcome(at) },
    subject: { type: 'self-test', id: lane },
    lane,
    priority,
    createdBy,
  }))
}

/** Commits the jobs of a self-test; the name of their lane comes back. Call `nudge` after the commit. */
const startSelfTest = async (tx: Tx, body: z.infer<typeof newSelfTest>, by: string): Promise<string> => {
  const lane = `${lanePrefix}${uuidv7()}`
  await enqueue(tx, jobsOf(body, lane, by))
  await insertAuditEvent(tx, {
    type: 'self-test.started',
    subject: { type: 'self-test', id: lane },
    actor: by,
    detail: body,
  })
  return lane
}

export const selfTests = (deps: ApiDeps) =>
  newResource()
    .openapi(create, async (c) => {
      const body = c.req.valid('json')
      const by = c.get('actor').name
      const answer = await once(c, deps, async (tx) => {
        const lane = await startSelfTest(tx, body, by)
        return {
          status: 202 as const,
          body: { lane, jobs: body.jobs },
          headers: { Location: `/v1/self-tests/${encodeURIComponent(lane)}` },
        }
      })
      nudge(deps.db)
      return c.json(answer.body, 202)
    })
    .openapi(show, async (c) => {
      const { lane } = c.req.valid('param')
      // Counting reads every job of the lane: others, and the default one above all, have no end.
      if (!lane.startsWith(lanePrefix)) throw notFound('self-test', lane)
      const { states, firstAt, lastAt } = await countLane(deps.db, lane)
      const jobs = Object.values(states).reduce((sum, count) => sum + count, 0)
      if (jobs === 0) throw notFound('self-test', lane)
      const ended = (states.succeeded ?? 0) + (states.failed ?? 0) + (states.canceled ?? 0)
      const counts = Object.fromEntries(jobStates.map((state) => [state, states[state] ?? 0]))
      return c.json(
        {
          lane,
          jobs,
          ended,
          counts,
          done: ended === jobs,
          started_at: momentOrNull(firstAt),
          finished_at: ended === jobs ? momentOrNull(lastAt) : null,
        },
        200,
      )
    })

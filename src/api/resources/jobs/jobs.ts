import { z } from '@hono/zod-openapi'
import { listEffects } from '../../../../db/queries/effects/list-effects.ts'
import { listJobEvents } from '../../../../db/queries/events/list-job-events.ts'
import { getJob, jobExists } from '../../../../db/queries/jobs/get-job.ts'
import { listJobs } from '../../../../db/queries/jobs/list-jobs.ts'
import { findKind } from '../../../domain/job/kinds/registry.ts'
import { formatCursor, requireCursor } from '../../../ledger/events/event-cursor.ts'
import { enqueue, requireSmall } from '../../../ledger/jobs/enqueue.ts'
import { nudge } from '../../../ledger/jobs/nudge.ts'
import { currentTraceparent } from '../../../process/telemetry.ts'
import type { ApiDeps } from '../../http/env.ts'
import { once, requestKey } from '../../http/idempotency.ts'
import { listRoute, showRoute } from '../../http/read-routes.ts'
import { defineRoute, idParams, json, jsonBody } from '../../http/route.ts'
import { eventKey, pageOf, pageQuery, readCursor, toPage, uuidKey } from '../../wire/page.ts'
import { fieldErrors, notFound, problem } from '../../wire/problem.ts'
import {
  anything,
  jobStateSchema,
  laneName,
  parseSubject,
  subjectInput,
  subjectQuery,
} from '../../wire/schemas.ts'
import { effectSchema, viewEffect } from './effect-view.ts'
import { eventSchema, viewJobEvent } from './event-view.ts'
import { jobSchema, jobSummarySchema, viewJob, viewJobSummary } from './job-view.ts'

const tag = 'Jobs'

const dateOf = (text: string | undefined): Date | undefined =>
  text === undefined ? undefined : new Date(text)

const list = listRoute({
  path: '/jobs',
  tag,
  summary: 'List jobs, the newest first',
  query: {
    state: jobStateSchema.optional(),
    kind: z.string().max(64).optional(),
    lane: laneName.optional(),
    subject: subjectQuery,
    created_after: z.iso.datetime({ offset: true }).optional(),
    created_before: z.iso.datetime({ offset: true }).optional(),
  },
  item: jobSummarySchema,
  page: 'JobPage',
  says: 'A page of jobs',
  read: ({ db }, { state, kind, lane, ...asked }, at) => {
    const subject = parseSubject(asked.subject)
    const created = {
      createdAfter: dateOf(asked.created_after),
      createdBefore: dateOf(asked.created_before),
    }
    return listJobs(db, { state, kind, lane, subject, ...created }, at)
  },
  view: viewJobSummary,
})

const show = showRoute({
  path: '/jobs/{id}',
  tag,
  summary: 'Show a job, and why it does not run',
  schema: jobSchema,
  says: 'The job',
  noun: 'job',
  find: ({ db }, id) => getJob(db, id),
  view: (job, { db, leaseMs }) => viewJob(db, job, leaseMs),
})

const create = defineRoute({
  method: 'post',
  path: '/jobs',
  role: 'operator',
  tag,
  summary: 'Create a job',
  description: 'Checked against the schema of its kind: see GET /v1/job-kinds.',
  request: {
    body: jsonBody(
      z
        .strictObject({
          kind: z.string().min(1).max(64),
          payload: anything,
          subject: subjectInput,
          priority: z.int().min(-100).max(100).default(0).openapi({ description: 'Higher goes first.' }),
          lane: laneName.default('default').openapi({ description: 'Lanes share the workers fairly.' }),
          run_after_ms: z
            .int()
            .min(0)
            .max(30 * 24 * 3_600_000)
            .default(0),
          deadline: z.iso.datetime({ offset: true }).optional(),
          tokens: z.array(z.string().max(200)).max(32).default([]),
        })
        .openapi('NewJob', {
          example: {
            kind: 'self-test',
            payload: { outcome: 'succeed', steps: 3, step_ms: 100 },
            subject: { type: 'self-test', id: 'by-hand' },
            priority: 0,
            lane: 'default',
          },
        }),
    ),
  },
  responses: {
    202: json(
      z
        .object({ id: z.uuid(), kind: z.string(), state: jobStateSchema, existing: z.boolean() })
        .openapi('AcceptedJob'),
      'Committed; a worker will run it. `Location` is where to look.',
    ),
  },
})

const events = defineRoute({
  method: 'get',
  path: '/jobs/{id}/events',
  role: 'viewer',
  tag,
  summary: 'What happened to a job, in order',
  request: { params: idParams, query: pageQuery },
  responses: { 200: json(pageOf(eventSchema, 'EventPage'), 'A page of events') },
})

const effects = defineRoute({
  method: 'get',
  path: '/jobs/{id}/effects',
  role: 'viewer',
  tag,
  summary: 'What a job has done outside the database',
  request: { params: idParams, query: pageQuery },
  responses: { 200: json(pageOf(effectSchema, 'EffectPage'), 'A page of effects') },
})

/** The ledger checks it again; here every field that is wrong is told, not the first. */
const checkPayload = (kind: string, payload: unknown): void => {
  const parsed = findKind(kind)?.payload.safeParse(payload)
  if (!parsed || parsed.success) return
  const errors = fieldErrors(parsed.error, 'payload')
  const [first] = errors
  throw problem(
    'payload-invalid',
    `The payload of ${kind} is not valid: ${first?.field}: ${first?.message}.`,
    {
      errors,
      ...(first ? { field: first.field } : {}),
    },
  )
}

/** `/jobs`: everything but the verbs, which are in job-verbs.ts. */
export const jobs = (deps: ApiDeps) =>
  show(deps, list(deps))
    .openapi(create, async (c) => {
      const { deadline, run_after_ms: runAfterMs, ...body } = c.req.valid('json')
      requireSmall(body.payload)
      checkPayload(body.kind, body.payload)
      const actor = c.get('actor').name
      const key = requestKey(c)
      const trace = currentTraceparent()
      const answer = await once(c, deps, async (tx) => {
        const [job] = await enqueue(tx, [
          {
            ...body,
            runAfterMs,
            createdBy: actor,
            // Outlives the stored answer: the same key never makes a second job while the first is kept.
            ...(key === undefined ? {} : { idempotencyKey: `${actor}/${key}` }),
            ...(deadline === undefined ? {} : { deadline: new Date(deadline) }),
            ...(trace === undefined ? {} : { trace }),
          },
        ])
        if (!job) throw new Error('One job was enqueued and none came back.')
        return { status: 202 as const, body: job, headers: { Location: `/v1/jobs/${job.id}` } }
      })
      nudge(deps.db)
      return c.json(answer.body, 202)
    })
    .openapi(events, async (c) => {
      const { id } = c.req.valid('param')
      const { limit, cursor } = c.req.valid('query')
      const after = readCursor(`job-events-${id}`, eventKey, cursor)
      if (!(await jobExists(deps.db, id))) throw notFound('job', id)
      const rows = await listJobEvents(deps.db, id, {
        after: after === undefined ? undefined : requireCursor(after, 'cursor'),
        limit: limit + 1,
      })
      return c.json(
        toPage(rows, { list: `job-events-${id}`, limit, key: formatCursor, item: viewJobEvent }),
        200,
      )
    })
    .openapi(effects, async (c) => {
      const { id } = c.req.valid('param')
      const { limit, cursor } = c.req.valid('query')
      const before = readCursor('effects', uuidKey, cursor)
      if (!(await jobExists(deps.db, id))) throw notFound('job', id)
      const rows = await listEffects(deps.db, { jobId: id }, { before, limit: limit + 1 })
      return c.json(toPage(rows, { list: 'effects', limit, key: (row) => row.id, item: viewEffect }), 200)
    })

import { z } from '@hono/zod-openapi'
import type { Queryable } from '../../../../db/client.ts'
import { findEntryWait } from '../../../../db/queries/entries/entry-wait-bound.ts'
import { explainReadyJob } from '../../../../db/queries/jobs/explain-ready-job.ts'
import type { JobDetail } from '../../../../db/queries/jobs/get-job.ts'
import type { JobLine } from '../../../../db/queries/jobs/list-jobs.ts'
import { explainTokenWait, type TokenLine } from '../../../../db/queries/tokens/explain-token-wait.ts'
import { explainRetryRefusal, refuseRetry } from '../../../domain/job/explain/retry-refusal.ts'
import {
  boundWait,
  explainReady,
  explainWait,
  type Wait,
  type WaitBound,
} from '../../../domain/job/explain/why-not-running.ts'
import { entryWaitBound } from '../../../domain/migration/entry/wait-bound.ts'
import { moment } from '../../http/route.ts'
import { anything, jobStateSchema, subjectSchema, timestamp } from '../../wire/schemas.ts'
import { toWire } from '../../wire/wire.ts'

export const errorSchema = z
  .object({
    code: z.string(),
    class: z.string(),
    message: z.string(),
    remedy: z.string(),
    field: z.string().optional(),
    detail: anything.optional(),
  })
  .openapi('JobError')

const retryRefusalSchema = z
  .object({ code: z.string(), message: z.string(), remedy: z.string() })
  .openapi('RetryRefusal')

const summaryShape = {
  id: z.uuid(),
  kind: z.string(),
  subject: subjectSchema,
  state: jobStateSchema,
  priority: z.int(),
  lane: z.string(),
  attempt: z.int(),
  generation: z.int(),
  wait_reason: z.string().nullable(),
  progress: anything.nullable(),
  error: errorSchema.nullable(),
  created_by: z.string(),
  created_at: timestamp,
  started_at: timestamp.nullable(),
  finished_at: timestamp.nullable(),
  retry_refusal: retryRefusalSchema.nullable().openapi({
    description: 'Of a job that failed or was canceled: why `:retry` is refused. Null: it may be run again.',
  }),
}

export const jobSummarySchema = z.object(summaryShape).openapi('JobSummary')

const waitSchema = z
  .object({
    reason: z.string(),
    detail: z.string(),
    since: timestamp,
    until: timestamp.nullable(),
    ends_when: z.string(),
    tokens: z
      .array(
        z.object({
          token: z.string(),
          holders: z.array(z.uuid()),
          holds: z.int(),
          waiters: z.int(),
          position: z.int(),
        }),
      )
      .optional(),
  })
  .openapi('Wait')

export const jobSchema = z
  .object({
    ...summaryShape,
    payload: anything,
    payload_version: z.int(),
    run_after: timestamp,
    deadline: timestamp.nullable(),
    environment_attempt: z.int(),
    lost: z.int(),
    lease_epoch: z.int(),
    lease_until: timestamp.nullable(),
    worker_id: z.uuid().nullable(),
    tokens: z.array(z.string()),
    wait: waitSchema
      .nullable()
      .openapi({ description: 'Why it does not run now; null when it runs or is over.' }),
    cancel: z.object({ requested_at: timestamp, by: z.string(), reason: z.string() }).nullable(),
    result: anything.nullable(),
    effects: z.object({ open: z.int(), debts: z.int() }),
    trace: z.string().nullable(),
  })
  .openapi('Job')

type JobError = z.infer<typeof errorSchema>
export type JobSummary = z.infer<typeof jobSummarySchema>
export type JobView = z.infer<typeof jobSchema>

const retryRefusalOf = (job: JobLine) => {
  const refusal = refuseRetry(job.kind, job.retryFacts)
  return refusal && explainRetryRefusal(refusal)
}

const summaryOf = (job: JobLine) => ({
  subject: { type: job.subjectType, id: job.subjectId },
  error: job.error as JobError | null,
  retry_refusal: retryRefusalOf(job),
})

export const viewJobSummary = (job: JobLine) => toWire(jobSummarySchema, job, summaryOf(job))

/** A job with the answer to "why does it not run?", looked up now. */
export const viewJob = async (db: Queryable, job: JobDetail, silentMs: number): Promise<JobView> =>
  toWire(jobSchema, job, {
    ...summaryOf(job),
    worker_id: job.state === 'running' ? job.workerId : null,
    wait: await waitOf(db, job, silentMs),
    cancel: job.cancelRequestedAt
      ? {
          requested_at: moment(job.cancelRequestedAt),
          by: job.cancelRequestedBy ?? '',
          reason: job.cancelReason ?? '',
        }
      : null,
    effects: { open: job.openEffects, debts: job.debts },
  })

const waitOf = async (
  db: Queryable,
  job: JobDetail,
  silentMs: number,
): Promise<z.infer<typeof waitSchema> | null> => {
  if (job.state === 'waiting') {
    const lines = job.waitSignal === 'token' ? await explainTokenWait(db, job.id) : []
    return viewWait(boundWait(explainWait(job, lines), await boundOf(db, job)), lines)
  }
  if (job.state !== 'ready') return null
  const wait = explainReady(job, await explainReadyJob(db, job, silentMs))
  return viewWait(boundWait(wait, await boundOf(db, job)), [])
}

const boundOf = async (db: Queryable, job: JobDetail): Promise<WaitBound | null> => {
  const entry = job.subjectType === 'entry' ? await findEntryWait(db, job.id) : undefined
  if (!entry) return null
  const { state, stage, window, windowEndsAt, lookAt } = entry
  return entryWaitBound({
    place: { state, stage },
    jobKind: job.kind,
    window: window === null ? null : { name: window, endsAt: windowEndsAt },
    lookAt,
  })
}

const viewWait = (wait: Wait, lines: readonly TokenLine[]): z.infer<typeof waitSchema> =>
  toWire(waitSchema, wait, lines.length > 0 ? { tokens: lines.map((line) => ({ ...line })) } : {})

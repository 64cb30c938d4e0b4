import type { RetryFacts } from '../../../src/domain/job/explain/retry-refusal.ts'
import type { JobState } from '../../../src/domain/job/state.ts'
import type { Queryable } from '../../client.ts'
import type { JobRow } from '../../schema/job.ts'
import { withRetryFacts } from './redrive-job.ts'

export interface JobFilter {
  readonly state?: JobState | undefined
  readonly kind?: string | undefined
  readonly lane?: string | undefined
  readonly subject?: { readonly type: string; readonly id: string } | undefined
  readonly createdAfter?: Date | undefined
  readonly createdBefore?: Date | undefined
}

export type JobLine = Pick<
  JobRow,
  | ('id' | 'kind' | 'subjectType' | 'subjectId' | 'priority' | 'lane' | 'attempt' | 'generation')
  | ('waitReason' | 'progress' | 'error' | 'createdBy' | 'createdAt' | 'startedAt' | 'finishedAt')
> & { readonly state: JobState; readonly retryFacts: RetryFacts | null }

/**
 * Jobs, the newest first. The sort key is the id: it grows with time and never changes. A job's lane, subject and,
 * where no partial index of a state serves better, its kind are looked up in `job_search`, so that a page of few among
 * millions reads few.
 */
export const listJobs = async (
  db: Queryable,
  filter: JobFilter,
  page: { before: string | undefined; limit: number },
): Promise<JobLine[]> =>
  withRetryFacts(
    db,
    await db<Omit<JobLine, 'retryFacts'>[]>`
  select id, kind, subject_type, subject_id, state, priority, lane, attempt, generation, wait_reason, progress,
    error, created_by, created_at, started_at, finished_at
  from ${source(db, filter, page.before)}
  where ${inState(db, filter.state)}
    and ${filter.kind === undefined ? db`true` : db`kind = ${filter.kind}`}
    and ${filter.lane === undefined ? db`true` : db`lane = ${filter.lane}`}
    and ${filter.subject === undefined ? db`true` : db`subject_type = ${filter.subject.type} and subject_id = ${filter.subject.id}`}
    and ${filter.createdAfter === undefined ? db`true` : db`created_at >= ${filter.createdAfter}`}
    and ${filter.createdBefore === undefined ? db`true` : db`created_at < ${filter.createdBefore}`}
    and ${idRange(db, db`id`, filter, page.before)}
  order by id desc limit ${page.limit}`,
  )

/** All states but success: few jobs are in each at a time, and each has a partial index. */
const isShort = (state: JobState | undefined): boolean => state !== undefined && state !== 'succeeded'

/** The lane of everything outside batches: unlike the others it never ends. */
const endlessLane = 'default'

const source = (db: Queryable, filter: JobFilter, before: string | undefined) => {
  const { kind, lane, subject, state } = filter
  const found = (key: ReturnType<typeof db>) => db`(
    select j.* from (
      select job_id from job_search where ${key} and ${idRange(db, db`job_id`, filter, before)} order by job_id desc
    ) found, lateral (select * from job where job.id = found.job_id) j
  ) job`
  if (subject !== undefined) return found(db`subject_type = ${subject.type} and subject_id = ${subject.id}`)
  if (lane !== undefined && lane !== endlessLane) return found(db`lane = ${lane}`)
  if (isShort(state)) return db`job`
  if (kind !== undefined) return found(db`kind = ${kind}`)
  return lane === undefined ? db`job` : found(db`lane = ${lane}`)
}

/** Names each state in the condition of the partial index that serves it. */
const inState = (db: Queryable, state: JobState | undefined) => {
  switch (state) {
    case undefined:
      return db`true`
    case 'running':
      return db`state = 'running' and lease_until is not null`
    case 'ready':
      return db`state = 'ready' and bell in ('due', 'held', 'rung')`
    case 'succeeded':
      return db`state = 'succeeded'`
    case 'canceled':
      return db`state = 'canceled'`
    case 'waiting':
      return db`state = 'waiting'`
    case 'failed':
      return db`state = 'failed'`
  }
}

/**
 * An id contains its creation time in milliseconds, so the order of ids also bounds the time; without that bound a
 * page that finds little would read the whole table. A day of tolerance for differing clocks.
 */
const idRange = (
  db: Queryable,
  id: ReturnType<Queryable>,
  filter: JobFilter,
  before: string | undefined,
) => db`(true
  ${before === undefined ? db`` : db`and ${id} < ${before}::uuid`}
  ${filter.createdAfter === undefined ? db`` : db`and ${id} >= ${idAt(filter.createdAfter, -slackMs)}::uuid`}
  ${filter.createdBefore === undefined ? db`` : db`and ${id} < ${idAt(filter.createdBefore, slackMs)}::uuid`})`

const slackMs = 24 * 3_600_000

/** The smallest id of that time. */
export const idAt = (moment: Date, shiftMs: number): string => {
  const hex = Math.max(0, moment.getTime() + shiftMs)
    .toString(16)
    .padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}

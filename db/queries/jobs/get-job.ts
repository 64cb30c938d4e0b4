import type { RetryFacts } from '../../../src/domain/job/explain/retry-refusal.ts'
import type { JobState } from '../../../src/domain/job/state.ts'
import type { Queryable } from '../../client.ts'
import type { JobRow } from '../../schema/job.ts'
import { withRetryFacts } from './redrive-job.ts'

export type JobDetail = Omit<
  JobRow,
  'idempotencyKey' | 'publish' | 'publishedAt' | 'checkpoint' | 'claimedAt' | 'claimedIn' | 'state'
> & {
  readonly state: JobState
  readonly notDue: boolean
  readonly openEffects: number
  readonly debts: number
  readonly retryFacts: RetryFacts | null
}

/** One job with everything that a person may see. The idempotency key is left out: it may reveal its owner. */
export const getJob = async (db: Queryable, id: string): Promise<JobDetail | undefined> => {
  const jobs = await db<Omit<JobDetail, 'retryFacts'>[]>`
    select id, kind, subject_type, subject_id, payload, payload_version, state, bell, priority, lane, run_after,
      run_after > now() as not_due, deadline, attempt, environment_attempt, lost, generation, lease_epoch,
      lease_until, worker_id, tokens, wait_reason, wait_detail, wait_since, wait_until, wait_signal,
      cancel_requested_at, cancel_requested_by, cancel_reason, progress, result, error, trace, created_by,
      created_at, started_at, finished_at,
      (select count(*)::int from effect e where e.job_id = job.id and e.state in ('intended', 'done')) as open_effects,
      (select count(*)::int from effect e where e.job_id = job.id and e.state = 'debt') as debts
    from job where id = ${id}::uuid`
  const [job] = await withRetryFacts(db, jobs)
  return job
}

export const jobExists = async (db: Queryable, id: string): Promise<boolean> => {
  const [row] = await db<
    { found: boolean }[]
  >`select exists (select from job where id = ${id}::uuid) as found`
  return row?.found ?? false
}

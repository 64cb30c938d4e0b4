import type { JobState } from '../../src/domain/job/state.ts'
import type { Queryable } from '../client.ts'

export interface JobDetail {
  readonly id: string
  readonly kind: string
  readonly subjectType: string
  readonly subjectId: string
  readonly payload: Record<string, unknown>
  readonly payloadVersion: number
  readonly state: JobState
  readonly bell: string
  readonly priority: number
  readonly lane: string
  readonly runAfter: Date
  readonly notDue: boolean
  readonly deadline: Date | null
  readonly attempt: number
  readonly environmentAttempt: number
  readonly lost: number
  readonly generation: number
  readonly leaseEpoch: number
  readonly leaseUntil: Date | null
  readonly workerId: string | null
  readonly tokens: string[]
  readonly waitReason: string | null
  readonly waitDetail: string | null
  readonly waitSince: Date | null
  readonly waitUntil: Date | null
  readonly waitSignal: string | null
  readonly cancelRequestedAt: Date | null
  readonly cancelRequestedBy: string | null
  readonly cancelReason: string | null
  readonly progress: Record<string, unknown> | null
  readonly result: Record<string, unknown> | null
  readonly error: Record<string, unknown> | null
  readonly trace: string | null
  readonly createdBy: string
  readonly createdAt: Date
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
  readonly openEffects: number
  readonly debts: number
}

/** One job with all that a person may ask of it. The idempotency key stays inside: it may say who its owner is. */
export const getJob = async (db: Queryable, id: string): Promise<JobDetail | undefined> => {
  const [job] = await db<JobDetail[]>`
    select id, kind, subject_type, subject_id, payload, payload_version, state, bell, priority, lane, run_after,
      run_after > now() as not_due, deadline, attempt, environment_attempt, lost, generation, lease_epoch,
      lease_until, worker_id, tokens, wait_reason, wait_detail, wait_since, wait_until, wait_signal,
      cancel_requested_at, cancel_requested_by, cancel_reason, progress, result, error, trace, created_by,
      created_at, started_at, finished_at,
      (select count(*)::int from effect e where e.job_id = job.id and e.state in ('intended', 'done')) as open_effects,
      (select count(*)::int from effect e where e.job_id = job.id and e.state = 'debt') as debts
    from job where id = ${id}::uuid`
  return job
}

export const jobExists = async (db: Queryable, id: string): Promise<boolean> => {
  const [row] = await db<
    { found: boolean }[]
  >`select exists (select from job where id = ${id}::uuid) as found`
  return row?.found ?? false
}

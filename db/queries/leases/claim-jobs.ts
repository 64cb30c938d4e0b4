import type { Queryable } from '../../client.ts'
import { inOrder } from '../../in-order.ts'
import type { JobRow } from '../../schema/job.ts'
import { jobSweep } from '../../state-words.ts'

/** What a worker needs of a claimed job. */
export type ClaimedJob = Pick<
  JobRow,
  | 'id'
  | 'kind'
  | 'subjectType'
  | 'subjectId'
  | 'payload'
  | 'payloadVersion'
  | 'lane'
  | 'generation'
  | 'leaseEpoch'
  | 'attempt'
  | 'environmentAttempt'
  | 'lost'
  | 'checkpoint'
  | 'progress'
  | 'tokens'
  | 'trace'
  | 'deadline'
  | 'createdBy'
> & {
  readonly cancelRequested: boolean
  /** The time of the claim, by the database's clock. */
  readonly claimedAt: Date
}

export interface ClaimAsk {
  readonly id: string
  readonly generation: number
  /** The highest payload version that this worker can run for the job's kind. */
  readonly version: number
}

export interface Claimer {
  readonly workerId: string
  readonly leaseMs: number
}

/** The changes of a claimed row `j`. */
export const underClaim = (db: Queryable, by: Claimer) => db`
  state = ${jobSweep(db, 'claim').to}, lease_epoch = j.lease_epoch + 1, worker_id = ${by.workerId}::uuid,
  lease_until = now() + ${by.leaseMs}::float8 * interval '1 millisecond', publish = j.publish + 1,
  claimed_at = now(), claimed_in = pg_current_snapshot(), started_at = coalesce(j.started_at, now()),
  wait_reason = null, wait_detail = null, wait_since = null`

/** The columns of `ClaimedJob`, of a row `j`. */
export const claimedColumns = (db: Queryable) => db`
  j.id, j.kind, j.subject_type, j.subject_id, j.payload, j.payload_version, j.lane, j.generation,
  j.lease_epoch, j.attempt, j.environment_attempt, j.lost, j.checkpoint, j.progress, j.tokens, j.trace,
  j.deadline, j.created_by, j.claimed_at, j.cancel_requested_at is not null as cancel_requested`

/**
 * Claims by id, many at once: the first claimer wins, with a new lease epoch. Jobs that need tokens are left out; they
 * are claimed one by one under the tokens' locks. `publish` grows so that the next ring gets an unused bell id, even
 * when the relay has not marked this one yet. Times are stored rounded to the millisecond, so "due now" may lie half a
 * millisecond ahead.
 */
export const claimJobs = async (
  db: Queryable,
  asked: readonly ClaimAsk[],
  by: Claimer,
): Promise<ClaimedJob[]> => {
  const ordered = inOrder(asked)
  const claim = jobSweep(db, 'claim')
  return db<ClaimedJob[]>`
  with asked as (
    select * from unnest(
      ${ordered.map((a) => a.id)}::uuid[], ${ordered.map((a) => a.generation)}::int[],
      ${ordered.map((a) => a.version)}::smallint[]
    ) as a(id, generation, version)
  ), paused as materialized (
    select scope, name from pause
  ), claimed as (
    update job j set
      ${underClaim(db, by)}
    from asked a
    where j.id = a.id and j.generation = a.generation and j.state ${claim.from}
      and j.run_after < now() + interval '1 millisecond'
      and j.payload_version <= a.version and j.tokens = '{}'
      and (j.cancel_requested_at is not null or not exists (
        select from paused p where (p.scope = 'kind' and p.name = j.kind) or (p.scope = 'lane' and p.name = j.lane)
      ))
    returning ${claimedColumns(db)}
  ), told as (
    insert into event (type, subject_type, subject_id, job_id, actor, from_state, to_state, detail)
    select ${claim.tells}, subject_type, subject_id, id, ${`worker/${by.workerId}`}, ${claim.was}, ${claim.to},
      jsonb_build_object('epoch', lease_epoch)
    from claimed
  )
  select * from claimed`
}

import type { Tx } from '../client.ts'
import type { ClaimAsk, ClaimedJob } from './claim-jobs.ts'

/** Claims one job whose tokens the caller has just granted, in the same transaction. */
export const claimJobWithTokens = async (
  tx: Tx,
  asked: ClaimAsk,
  by: { workerId: string; leaseMs: number },
): Promise<ClaimedJob | undefined> => {
  const [claimed] = await tx<ClaimedJob[]>`
    with claimed as (
      update job j set
        state = 'running', lease_epoch = j.lease_epoch + 1, worker_id = ${by.workerId}::uuid,
        lease_until = now() + ${by.leaseMs}::float8 * interval '1 millisecond', publish = j.publish + 1,
        claimed_at = now(), claimed_in = pg_current_snapshot(), started_at = coalesce(j.started_at, now()), wait_reason = null, wait_detail = null,
        wait_since = null
      where j.id = ${asked.id}::uuid and j.generation = ${asked.generation} and j.state = 'ready'
        and j.run_after < now() + interval '1 millisecond' and j.payload_version <= ${asked.version}
        and (j.cancel_requested_at is not null or not exists (
          select from pause p where (p.scope = 'kind' and p.name = j.kind) or (p.scope = 'lane' and p.name = j.lane)
        ))
      returning j.id, j.kind, j.subject_type, j.subject_id, j.payload, j.payload_version, j.lane, j.generation,
        j.lease_epoch, j.attempt, j.environment_attempt, j.lost, j.checkpoint, j.progress, j.tokens, j.trace,
        j.deadline, j.created_by, j.cancel_requested_at is not null as cancel_requested
    ), holding as (
      update token_hold h set epoch = c.lease_epoch from claimed c where h.job_id = c.id
    ), told as (
      insert into event (type, subject_type, subject_id, job_id, actor, from_state, to_state, detail)
      select 'job.running', subject_type, subject_id, id, ${`worker/${by.workerId}`}, 'ready', 'running',
        jsonb_build_object('epoch', lease_epoch, 'tokens', to_jsonb(tokens))
      from claimed
    )
    select * from claimed`
  return claimed
}

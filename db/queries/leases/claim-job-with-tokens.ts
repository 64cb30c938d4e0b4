import type { Tx } from '../../client.ts'
import { jobSweep } from '../../state-words.ts'
import { type ClaimAsk, type ClaimedJob, type Claimer, claimedColumns, underClaim } from './claim-jobs.ts'

/** Claims one job whose tokens the caller has just granted, in the same transaction. */
export const claimJobWithTokens = async (
  tx: Tx,
  asked: ClaimAsk,
  by: Claimer,
): Promise<ClaimedJob | undefined> => {
  const claim = jobSweep(tx, 'claim')
  const [claimed] = await tx<ClaimedJob[]>`
    with claimed as (
      update job j set
        ${underClaim(tx, by)}
      where j.id = ${asked.id}::uuid and j.generation = ${asked.generation} and j.state ${claim.from}
        and j.run_after < now() + interval '1 millisecond' and j.payload_version <= ${asked.version}
        and (j.cancel_requested_at is not null or not exists (
          select from pause p where (p.scope = 'kind' and p.name = j.kind) or (p.scope = 'lane' and p.name = j.lane)
        ))
      returning ${claimedColumns(tx)}
    ), holding as (
      update token_hold h set epoch = c.lease_epoch from claimed c where h.job_id = c.id
    ), told as (
      insert into event (type, subject_type, subject_id, job_id, actor, from_state, to_state, detail)
      select ${claim.tells}, subject_type, subject_id, id, ${`worker/${by.workerId}`}, ${claim.was}, ${claim.to},
        jsonb_build_object('epoch', lease_epoch, 'tokens', to_jsonb(tokens))
      from claimed
    )
    select * from claimed`
  return claimed
}

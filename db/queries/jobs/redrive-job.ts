import type { Tx } from '../../client.ts'
import { jobSweep } from '../../state-words.ts'

/**
 * Starts a new generation of an ended job: budgets afresh, checkpoint kept. The caller holds its lock. `publish`
 * grows, so that the relay's late mark of a bell of the generation before misses.
 */
export const redriveJob = async (tx: Tx, jobId: string, by: string): Promise<number> => {
  const redrive = jobSweep(tx, 'redrive')
  const [row] = await tx<{ generation: number }[]>`
    with before as (select id, state from job where id = ${jobId}::uuid),
    redriven as (
      update job set state = ${redrive.to}, bell = 'due', generation = generation + 1, run_after = now(),
        attempt = 0, environment_attempt = 0, lost = 0, finished_at = null, started_at = null, error = null,
        deadline = null, cancel_requested_at = null, cancel_requested_by = null, cancel_reason = null,
        published_at = null, publish = publish + 1,
        wait_reason = null, wait_detail = null, wait_since = null, wait_until = null, wait_signal = null
      where id = ${jobId}::uuid and state ${redrive.from} returning id, subject_type, subject_id, generation
    ), kept as (
      -- Tokens that its last run was not yet through with: they are its reservation now.
      update token_hold set epoch = 0, acquired_at = now() where job_id in (select id from redriven)
    ), told as (
      insert into event (type, subject_type, subject_id, job_id, actor, from_state, to_state, detail)
      select ${redrive.tells}, subject_type, subject_id, id, ${by}, before.state, ${redrive.to},
        jsonb_build_object('generation', generation)
      from redriven join before using (id)
    )
    select generation from redriven`
  if (!row) throw new Error(`Job ${jobId} has not ended, or has succeeded: it cannot be redriven.`)
  return row.generation
}

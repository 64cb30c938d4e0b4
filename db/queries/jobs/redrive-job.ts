import {
  neededBy,
  type RetryFacts,
  type RetryRefusal,
  refuseRetry,
  runAgain,
} from '../../../src/domain/job/retry-refusal.ts'
import { endedStates } from '../../../src/domain/operation/kinds/state.ts'
import type { Queryable, Tx } from '../../client.ts'
import { jobSweep } from '../../state-words.ts'

const neededHere = (db: Queryable, need: keyof typeof neededBy) =>
  db`kind = any(${[...neededBy[need]]}::text[])`

/** A column: the facts that decide whether the `job` can be run again; null where it does not apply. */
export const retryFacts = (db: Queryable) => db`
  case when state = any(${runAgain as string[]}::text[]) then jsonb_build_object(
    'in_debt', exists (select from effect f where f.job_id = job.id and f.state = 'debt'),
    'operation_ended', exists (
      select from operation o where o.job_id = job.id and o.state = any(${endedStates as string[]}::text[])),
    'has_entry', case when ${neededHere(db, 'entry')}
      then exists (select from entry e where e.job_id = job.id) else false end,
    'has_site', case when ${neededHere(db, 'site')}
      then exists (select from site s where s.role = job.subject_type and s.name = job.subject_id) else false end,
    'has_instance', case when ${neededHere(db, 'instance')} then exists (
      select from instance i where i.id = (job.payload ->> 'instance')::uuid and i.gone_at is null) else false end,
    'has_template', case when ${neededHere(db, 'template')} then exists (
      select from template t where t.job_id = job.id and t.deleted_at is null) else false end,
    'has_image', case when ${neededHere(db, 'image')} then exists (
      select from image i where i.id = (job.payload ->> 'image_id')::uuid and i.state <> 'deleted') else false end
  ) end`

export const findRetryRefusal = async (db: Queryable, jobId: string): Promise<RetryRefusal | null> => {
  const [row] = await db<{ kind: string; facts: RetryFacts | null }[]>`
    select kind, ${retryFacts(db)} as facts from job where id = ${jobId}::uuid`
  return row ? refuseRetry(row.kind, row.facts) : null
}

/**
 * Starts a new generation of an ended job: fresh budgets, same checkpoint. The caller holds its lock. `publish` grows,
 * so that the relay's late mark of an older bell does not apply.
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

import { type RetryFacts, runAgain } from '../../../src/domain/job/explain/retry-refusal.ts'
import type { JobNeed } from '../../../src/domain/job/kind.ts'
import { findKind } from '../../../src/domain/job/kinds/registry.ts'
import type { JobState } from '../../../src/domain/job/state.ts'
import { endedStates } from '../../../src/domain/operation/kinds/state.ts'
import type { Queryable, Tx } from '../../client.ts'
import { jobSweep } from '../../state-words.ts'

interface Asked {
  readonly id: string
  readonly kind: string
  readonly state: JobState
}

/** Each job with what decides whether it can be run again, looked up at once; null where nobody asks. */
export const withRetryFacts = async <Job extends Asked>(
  db: Queryable,
  jobs: readonly Job[],
): Promise<(Job & { readonly retryFacts: RetryFacts | null })[]> => {
  const ended = jobs.filter(({ state }) => runAgain.includes(state))
  const facts = new Map(ended.map(({ id }) => [id, { inDebt: false, hasNeeded: false }]))
  for (const { id, fact } of ended.length === 0 ? [] : await look(db, ended)) {
    const found = facts.get(id)
    if (found) found[fact] = true
  }
  return jobs.map((job) => ({ ...job, retryFacts: facts.get(job.id) ?? null }))
}

const look = (db: Queryable, jobs: readonly Asked[]) => {
  const anyOf = (some: readonly Asked[]) => db`any(${some.map(({ id }) => id)}::uuid[])`
  const needing = (need: JobNeed) => anyOf(jobs.filter(({ kind }) => findKind(kind)?.needs === need))
  return db<{ id: string; fact: keyof RetryFacts }[]>`
    select job_id as id, 'inDebt' as fact from effect where job_id = ${anyOf(jobs)} and state = 'debt'
    union all
    select id, 'hasNeeded' from job where id = ${needing('operation')} and not exists (
      select from operation where job_id = job.id and state = any(${endedStates as string[]}::text[]))
    union all
    select job_id, 'hasNeeded' from entry where job_id = ${needing('entry')}
    union all
    select job.id, 'hasNeeded' from job join site on role = subject_type and name = subject_id
      where job.id = ${needing('site')}
    union all
    select job.id, 'hasNeeded' from job join instance on instance.id = (payload ->> 'instance')::uuid
      where job.id = ${needing('instance')} and gone_at is null
    union all
    select job_id, 'hasNeeded' from template where job_id = ${needing('template')} and deleted_at is null
    union all
    select job.id, 'hasNeeded' from job join image on image.id = (payload ->> 'image_id')::uuid
      where job.id = ${needing('image')} and deleted_at is null`
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

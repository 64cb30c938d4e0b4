import type { JobNeed } from '../../../src/domain/job/kind.ts'
import { findKind } from '../../../src/domain/job/kinds/registry.ts'
import { type RetryFacts, runAgain } from '../../../src/domain/job/kinds/retry-refusal.ts'
import type { JobState } from '../../../src/domain/job/state.ts'
import { endedStates } from '../../../src/domain/operation/kinds/state.ts'
import type { Queryable } from '../../client.ts'

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
      where job.id = ${needing('instance')} and gone_at is null`
}

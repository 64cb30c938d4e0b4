import type { ClosedIntent, OpenIntent } from '../../../src/domain/job/ends.ts'
import type { Queryable, Tx } from '../../client.ts'

export type IntentRow = OpenIntent & { readonly id: string }

const facts = (db: Queryable) => db`e.id, e.undo is not null as has_undo, e.error is not null as refused`

/** Which of these jobs have open intents: only the job itself, which has ended, could add more. */
export const findIntending = async (db: Queryable, jobIds: readonly string[]): Promise<string[]> => {
  const rows = await db<{ jobId: string }[]>`
    select distinct job_id from effect where job_id = any(${jobIds as string[]}::uuid[]) and state = 'intended'`
  return rows.map(({ jobId }) => jobId)
}

/** The open intents of these jobs, locked. */
export const lockIntents = async (tx: Tx, jobIds: readonly string[]): Promise<IntentRow[]> => tx<IntentRow[]>`
  select ${facts(tx)} from effect e where job_id = any(${jobIds as string[]}::uuid[]) and state = 'intended'
  order by id for no key update`

/**
 * Open intents of ended jobs: left by an older version, which may run beside this one. The job is locked, so that it
 * is not redriven meanwhile.
 */
export const lockForgottenIntents = async (tx: Tx, limit: number): Promise<IntentRow[]> => tx<IntentRow[]>`
  select ${facts(tx)} from effect e join job j on j.id = e.job_id
  -- The second condition says nothing new: it is that of the index.
  where e.state = 'intended' and e.state <> 'done' and j.finished_at is not null
  order by e.id limit ${limit} for no key update of e for share of j skip locked`

/** Closes intents, each as decided. The caller holds their locks. */
export const closeIntentRows = async (
  tx: Tx,
  intents: readonly (ClosedIntent & { readonly id: string })[],
  actor: string,
): Promise<void> => {
  await tx`
    with closing as (
      select * from unnest(${intents.map(({ id }) => id)}::uuid[], ${intents.map(({ to }) => to)}::text[],
        ${intents.map(({ reason }) => reason)}::text[],
        ${intents.map(({ error }) => (error ? JSON.stringify(error) : null))}::text[]) as c(id, state, reason, error)
    ), closed as (
      update effect e set state = c.state, updated_at = now(), error = c.error::jsonb,
        next_try_at = case when c.state = 'debt' then now() end
      from closing c where e.id = c.id and e.state = 'intended'
      returning e.*, c.reason
    )
    insert into event (type, subject_type, subject_id, job_id, actor, from_state, to_state, reason, detail)
    select 'effect.' || state, subject_type, subject_id, job_id, ${actor}, 'intended', state, reason,
      jsonb_build_object('effect', id, 'kind', kind, 'name', name, 'platform', platform)
    from closed`
}

import type { Queryable, Tx } from '../client.ts'

/** `closing` (id): intents of jobs that have ended, locked. */
const close = async (tx: Tx, closing: ReturnType<Queryable>, actor: string): Promise<number> => {
  const [row] = await tx<{ closed: number }[]>`
    with closing as (${closing}),
    judged as (
      -- A clear no came back, or there is nothing that would be left behind. All else is unknown, which is not absent.
      select id, e.undo is null or e.error is not null as nothing from effect e join closing using (id)
    ), closed as (
      update effect e set state = case when nothing then 'undone' else 'debt' end, updated_at = now(),
        next_try_at = case when not nothing then now() end,
        error = case when not nothing then jsonb_build_object('code', 'outcome-unknown', 'class', 'transient',
          'message', 'Its job has ended, and what came of it was never learnt.',
          'remedy', 'It is looked at by itself as soon as a worker and the platform are there.') end
      from judged where e.id = judged.id and e.state = 'intended'
      returning e.*
    ), told as (
      insert into event (type, subject_type, subject_id, job_id, actor, from_state, to_state, reason, detail)
      select 'effect.' || state, subject_type, subject_id, job_id, ${actor}, 'intended', state,
        case when state = 'debt' then 'outcome-unknown' else 'nothing came of it' end,
        jsonb_build_object('effect', id, 'kind', kind, 'name', name, 'platform', platform)
      from closed
    )
    select count(*)::int as closed from closed`
  return row?.closed ?? 0
}

/** Of these jobs, those that intend something still: nobody but the job itself, which is over, could add to it. */
export const findIntending = async (db: Queryable, jobIds: readonly string[]): Promise<string[]> => {
  const rows = await db<{ jobId: string }[]>`
    select distinct job_id from effect where job_id = any(${jobIds as string[]}::uuid[]) and state = 'intended'`
  return rows.map(({ jobId }) => jobId)
}

/**
 * What jobs that end in this transaction still intend: what is known to have come to nothing is undone, of all else
 * nobody knows whether it is there, so it is a debt and somebody looks.
 */
export const closeIntents = (tx: Tx, jobIds: readonly string[], actor: string): Promise<number> =>
  close(
    tx,
    tx`select id from effect where job_id = any(${jobIds as string[]}::uuid[]) and state = 'intended'
      order by id for no key update`,
    actor,
  )

/**
 * The same for jobs that ended without it: under an older version, which may run beside this one. The job is locked, so
 * that none of them is redriven meanwhile.
 */
export const closeForgottenIntents = (tx: Tx, limit: number, actor: string): Promise<number> =>
  close(
    tx,
    tx`select e.id from effect e join job j on j.id = e.job_id
      -- The second condition says nothing new: it is that of the index.
      where e.state = 'intended' and e.state <> 'done' and j.finished_at is not null
      order by e.id limit ${limit} for no key update of e for share of j skip locked`,
    actor,
  )

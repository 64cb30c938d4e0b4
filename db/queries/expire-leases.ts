import type { Tx } from '../client.ts'

export interface ExpiredJob {
  readonly id: string
  readonly kind: string
  readonly state: 'ready' | 'failed'
  readonly tokens: string[]
}

/**
 * Takes jobs back from workers that fell silent. The epoch stays: the next claim raises it, and from this
 * statement on the old owner's writes miss because the job no longer runs. A job under which its
 * kind's `lostMax` workers vanished is the suspect itself and fails.
 */
export const expireLeases = async (
  tx: Tx,
  options: { lostMax: ReadonlyMap<string, number>; limit: number },
): Promise<ExpiredJob[]> => tx<ExpiredJob[]>`
  with bound as (
    select * from unnest(${[...options.lostMax.keys()]}::text[], ${[...options.lostMax.values()]}::int[]) as b(kind, lost_max)
  ), silent as (
    select id, worker_id, lease_epoch,
      -- A kind that this version does not know is never given up here.
      coalesce(j.lost + 1 >= (select lost_max from bound where bound.kind = j.kind), false) as given_up
    from job j where lease_until < now() order by lease_until limit ${options.limit} for update skip locked
  ), expired as (
    update job j set
      state = case when s.given_up then 'failed' else 'ready' end,
      bell = 'due', run_after = now(), lost = j.lost + 1, lease_until = null,
      finished_at = case when s.given_up then now() end,
      error = case when s.given_up then jsonb_build_object(
        'code', 'worker-lost', 'class', 'permanent',
        'message', 'The worker that ran this job vanished ' || (j.lost + 1) || ' times.',
        'remedy', 'Look in the workers'' logs for what ended them (memory, a crash), then retry the job.')
        else j.error end
    from silent s where j.id = s.id
    returning j.id, j.kind, j.state, j.tokens, j.subject_type, j.subject_id, s.worker_id, s.lease_epoch
  ), told as (
    insert into event (type, subject_type, subject_id, job_id, actor, from_state, to_state, reason, detail)
    select case when state = 'failed' then 'job.failed' else 'job.lost' end, subject_type, subject_id, id,
      'conductor', 'running', state, 'lease-expired', jsonb_build_object('worker', worker_id, 'epoch', lease_epoch)
    from expired
  )
  select id, kind, state, tokens from expired`

import type { Queryable } from '../../client.ts'
import { jobSweep } from '../../state-words.ts'

/**
 * Ends waits whose time is over: the handler sees that nothing came. A job that queued for tokens asks again and keeps
 * its place.
 */
export const wakeTimedOutWaits = async (db: Queryable, limit: number): Promise<number> => {
  const wake = jobSweep(db, 'wake')
  const [row] = await db<{ woken: number }[]>`
    with late as (
      select id, wait_reason from job where state ${wake.from} and wait_until <= now() order by wait_until
      limit ${limit} for update skip locked
    ), woken as (
      update job j set state = ${wake.to}, bell = 'due', run_after = now(), wait_until = null,
        wait_signal = null, wait_since = case when j.wait_signal = 'token' then j.wait_since end
      from late l where j.id = l.id returning j.id, j.subject_type, j.subject_id, l.wait_reason
    ), told as (
      insert into event (type, subject_type, subject_id, job_id, actor, from_state, to_state, reason, detail)
      select ${wake.tells}, subject_type, subject_id, id, 'conductor', ${wake.was}, ${wake.to}, 'wait-deadline',
        jsonb_build_object('waited_for', wait_reason)
      from woken
    )
    select count(*)::int as woken from woken`
  return row?.woken ?? 0
}

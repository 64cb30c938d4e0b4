import type { Tx } from '../client.ts'

export interface OverdueJob {
  readonly id: string
  readonly tokens: string[]
  /** Whether a worker was running it. */
  readonly ran: boolean
}

/**
 * Fails jobs that did not end by their deadline. A running one loses its lease with it, so what its handler
 * still writes is refused.
 */
export const failPastDeadline = async (tx: Tx, limit: number): Promise<OverdueJob[]> => tx<OverdueJob[]>`
  with overdue as (
    select id, state from job where deadline < now() and finished_at is null order by deadline limit ${limit}
    for update skip locked
  ), failed as (
    update job j set state = 'failed', finished_at = now(), lease_until = null, wait_signal = null,
      error = jsonb_build_object('code', 'deadline-passed', 'class', 'permanent',
        'message', 'The job did not end by its deadline; it was ' || o.state || ' then.',
        'remedy', 'Retry it with a later deadline, after looking at what it waited for.')
    from overdue o where j.id = o.id
    returning j.id, j.tokens, j.subject_type, j.subject_id, j.lease_epoch, o.state as from_state
  ), told as (
    insert into event (type, subject_type, subject_id, job_id, actor, from_state, to_state, reason, detail)
    select 'job.failed', subject_type, subject_id, id, 'conductor', from_state, 'failed', 'deadline-passed',
      case when from_state = 'running' then jsonb_build_object('epoch', lease_epoch) end
    from failed
  )
  select id, tokens, from_state = 'running' as ran from failed`

import { operationReasons } from '../../src/domain/operation/reasons.ts'
import { activeStates } from '../../src/domain/operation/state.ts'
import type { Queryable } from '../client.ts'

/** The only kind of job that operations have. */
const jobKind = 'operate-machine'

/**
 * Why an operation is where it is: what an active one waits for is told by its job alone, so that it is never out of
 * date; a worker that was silent for `silentMs` does not count. Of an operation `o`, beside `jobOfOperation`.
 */
export const shownReason = (db: Queryable, silentMs: number) => db`
  case
    when o.state <> all(${activeStates as unknown as string[]}::text[]) or j.id is null then o.reason
    when j.state = 'waiting' and j.wait_reason = 'token' then 'awaiting-slot'
    when j.state = 'waiting' and j.wait_reason = any(${Object.keys(operationReasons)}::text[]) then j.wait_reason
    when j.state = 'ready' and p.scope is not null then 'paused'
    when j.state = 'ready' and j.run_after > now() and j.error is not null then 'retrying'
    when j.state = 'ready' and not exists (select from worker w where w.role = 'worker' and w.state = 'active'
      and w.kinds ? ${jobKind} and w.heartbeat_at > now() - ${silentMs}::float8 * interval '1 millisecond')
      then 'no-worker'
    else o.reason
  end`

/** The job `j` of an operation `o` that has not ended, and the pause `p` that holds it. */
export const jobOfOperation = (db: Queryable) => db`
  left join job j on j.id = o.job_id and o.finished_at is null
    left join lateral (select * from pause where (scope = 'kind' and name = j.kind) or (scope = 'lane' and name = j.lane)
      order by scope limit 1) p on true`

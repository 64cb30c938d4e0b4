import type { Queryable } from '../../client.ts'

/** The only job kind of operations. */
const jobKind = 'operate-machine'

/**
 * What the shown reason depends on, besides the operation's own state and reason; a worker that was silent for
 * `silentMs` does not count. For an operation `o`, with `jobOfOperation`.
 */
export const reasonFacts = (db: Queryable, silentMs: number) => db`
  j.state as job_state, j.wait_reason as job_wait_reason, p.scope is not null as held,
  coalesce(j.run_after > now() and j.error is not null, false) as retrying,
  exists (select from worker w where w.role = 'worker' and w.state = 'active' and w.kinds ? ${jobKind}
    and w.heartbeat_at > now() - ${silentMs}::float8 * interval '1 millisecond') as attended`

/** The job `j` of an operation `o` that has not ended, and the pause `p` that holds it. */
export const jobOfOperation = (db: Queryable) => db`
  left join job j on j.id = o.job_id and o.finished_at is null
    left join lateral (select * from pause where (scope = 'kind' and name = j.kind) or (scope = 'lane' and name = j.lane)
      order by scope limit 1) p on true`

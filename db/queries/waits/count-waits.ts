import type { Queryable } from '../../client.ts'

export interface WaitCount {
  readonly kind: string
  readonly reason: string
  readonly jobs: number
  readonly since: Date
  readonly until: Date
  /** The job that waits longest, as an example. */
  readonly example: string
}

/** Waiting jobs, by kind and reason. */
export const countWaits = async (db: Queryable): Promise<WaitCount[]> => db<WaitCount[]>`
  select kind, wait_reason as reason, count(*)::int as jobs, min(wait_since) as since, max(wait_until) as until,
    (array_agg(id order by wait_since, id))[1] as example
  from job where state = 'waiting' group by kind, wait_reason order by count(*) desc, kind, wait_reason`

/** For every kind with ready jobs, the one that is ready for the longest time. */
export const oldestReadyJobs = async (db: Queryable): Promise<{ kind: string; id: string }[]> => db<
  { kind: string; id: string }[]
>`
  select distinct on (kind) kind, id from (
    select kind, id from job where state = 'ready' and bell = 'due'
    union all select kind, id from job where state = 'ready' and bell = 'held'
    union all select kind, id from job where state = 'ready' and bell = 'rung'
  ) ready order by kind, id`

import type { Queryable } from '../../client.ts'

export interface LaneCount {
  readonly lane: string
  readonly state: string
  readonly jobs: number
}

/** Open jobs by lane. Each part names the condition of a partial index: ended jobs are not read. */
export const countOpenJobsByLane = async (db: Queryable): Promise<LaneCount[]> => db<LaneCount[]>`
  select lane, state, sum(jobs)::int as jobs from (
    select lane, state, count(*) as jobs from job where state = 'ready' and bell = 'due' group by 1, 2
    union all select lane, state, count(*) from job where state = 'ready' and bell = 'held' group by 1, 2
    union all select lane, state, count(*) from job where state = 'ready' and bell = 'rung' group by 1, 2
    union all select lane, state, count(*) from job where lease_until is not null group by 1, 2
    union all select lane, state, count(*) from job where state = 'waiting' group by 1, 2
  ) part group by lane, state order by lane`

/** Batches of the last ended jobs, so that a batch that is done does not disappear at once. */
export const listRecentBatches = async (db: Queryable, lookAt: number, limit: number): Promise<string[]> => {
  const rows = await db<{ lane: string }[]>`
    select lane from (
      select lane, finished_at from job where finished_at is not null order by finished_at desc limit ${lookAt}
    ) recent
    where lane like 'batch/%' group by lane order by max(finished_at) desc limit ${limit}`
  return rows.map((row) => row.lane)
}

export interface BatchCount extends LaneCount {
  readonly firstAt: Date
  readonly lastAt: Date | null
  /** Its jobs that ended within the last ten seconds. */
  readonly recent: number
}

/** The progress of some batches: all of their jobs, by state. Not for the default lane, which never ends. */
export const countBatches = async (db: Queryable, lanes: readonly string[]): Promise<BatchCount[]> => db<
  BatchCount[]
>`
  select j.lane, state, count(*)::int as jobs, min(created_at) as first_at, max(finished_at) as last_at,
    count(*) filter (where finished_at > now() - interval '10 seconds')::int as recent
  from job_search s join job j on j.id = s.job_id
  where s.lane = any(${lanes as string[]}::text[]) group by j.lane, state`

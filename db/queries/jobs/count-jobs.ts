import type { Queryable } from '../../client.ts'

export interface KindCount {
  readonly kind: string
  readonly state: string
  readonly jobs: number
}

/**
 * Open and failed jobs, by kind. Each part names the condition of a partial index: ended jobs, which are nearly all
 * rows, are never read.
 */
export const countJobsByKind = async (db: Queryable): Promise<KindCount[]> => db<KindCount[]>`
  select kind, state, sum(jobs)::int as jobs from (
    select kind, state, count(*) as jobs from job where state = 'ready' and bell = 'due' group by 1, 2
    union all select kind, state, count(*) from job where state = 'ready' and bell = 'held' group by 1, 2
    union all select kind, state, count(*) from job where state = 'ready' and bell = 'rung' group by 1, 2
    union all select kind, state, count(*) from job where lease_until is not null group by 1, 2
    union all select kind, state, count(*) from job where state = 'waiting' group by 1, 2
    union all select kind, state, count(*) from job where state = 'failed' group by 1, 2
  ) part group by kind, state`

/** The progress of a lane: all of its jobs, by state. Not for the default lane, which never ends. */
export const countLane = async (
  db: Queryable,
  lane: string,
): Promise<{ states: Record<string, number>; firstAt: Date | null; lastAt: Date | null }> => {
  const rows = await db<{ state: string; jobs: number; firstAt: Date | null; lastAt: Date | null }[]>`
    select state, count(*)::int as jobs, min(created_at) as first_at, max(finished_at) as last_at
    from job_search s join job j on j.id = s.job_id where s.lane = ${lane} group by state`
  const moments = (pick: (row: (typeof rows)[number]) => Date | null) =>
    rows.map(pick).filter((at) => at !== null)
  const first = moments((row) => row.firstAt).sort((a, b) => a.getTime() - b.getTime())[0]
  const last = moments((row) => row.lastAt).sort((a, b) => b.getTime() - a.getTime())[0]
  return {
    states: Object.fromEntries(rows.map((row) => [row.state, row.jobs])),
    firstAt: first ?? null,
    lastAt: last ?? null,
  }
}

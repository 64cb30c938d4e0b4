import type { Queryable } from '../../client.ts'

export interface Backlog {
  readonly kind: string
  /** Where the jobs stand: `due`, `rung` (a bell is out), `held` (due later), `waiting`, `running`. */
  readonly stage: string
  readonly jobs: number
  /** How long the oldest of those that could run has been waiting for a worker. */
  readonly oldestSeconds: number
}

/**
 * The length of every line and the age of its head: what an alarm hangs on. Each line is counted through the
 * partial index that holds it, so what is over costs nothing, however much of it is kept.
 */
export const measureBacklog = async (db: Queryable): Promise<Backlog[]> => db<Backlog[]>`
  select kind, bell as stage, count(*)::int as jobs,
    extract(epoch from now() - min(greatest(run_after, created_at)))::float8 as oldest_seconds
  from job where state = 'ready' and bell = 'due' group by kind, bell
  union all
  select kind, bell, count(*)::int, extract(epoch from now() - min(greatest(run_after, created_at)))::float8
  from job where state = 'ready' and bell = 'rung' group by kind, bell
  union all
  select kind, bell, count(*)::int, 0 from job where state = 'ready' and bell = 'held' group by kind, bell
  union all
  select kind, 'waiting', count(*)::int, 0 from job where state = 'waiting' group by kind
  union all
  select kind, 'running', count(*)::int, 0 from job where lease_until is not null group by kind`

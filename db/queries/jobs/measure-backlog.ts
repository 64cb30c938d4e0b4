import type { Queryable } from '../../client.ts'

export interface Backlog {
  readonly kind: string
  /** The stage of the jobs: `due`, `rung` (a bell is out), `held` (due later), `waiting`, `running`. */
  readonly stage: string
  readonly jobs: number
  /** How long the oldest job that could run has waited for a worker. */
  readonly oldestSeconds: number
}

/**
 * The length of every queue and the age of its head, for alarms. Each is counted through its partial index, so ended
 * jobs cost nothing.
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

import type { Queryable } from '../client.ts'

export interface TallyLine {
  readonly kind: string
  readonly force: boolean
  readonly outcome: string
  readonly reason: string
  readonly times: number
  readonly waitedSeconds: number
  readonly ranSeconds: number
}

/** How often each end has come about. */
export const readOperationTally = async (db: Queryable): Promise<TallyLine[]> =>
  db<TallyLine[]>`select * from operation_tally`

export interface OpenLine {
  /** `letting-go`: ended, and what it began has not stopped yet. */
  readonly state: string
  readonly reason: string
  readonly operations: number
  /** Since the oldest of them was asked for; of those that let go, since it ended. */
  readonly oldestSeconds: number
}

/** What has not come to its end, through the index of open ones: what is over costs nothing. */
export const measureOpenOperations = async (db: Queryable): Promise<OpenLine[]> => db<OpenLine[]>`
  select case when finished_at is null then state else 'letting-go' end as state, reason,
    count(*)::int as operations,
    extract(epoch from now() - min(coalesce(finished_at, created_at)))::float8 as oldest_seconds
  from operation where settled_at is null group by 1, 2`

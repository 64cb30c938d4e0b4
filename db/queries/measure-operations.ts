import type { Queryable } from '../client.ts'
import { jobOfOperation, shownReason } from './shown-reason.ts'

export interface TallyLine {
  readonly kind: string
  readonly force: boolean
  readonly outcome: string
  readonly reason: string
  readonly times: number
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

/**
 * What has not come to its end, through the index of open ones: what is over costs nothing. By the reason that is shown;
 * a worker that was silent for `silentMs` does not count.
 */
export const measureOpenOperations = async (db: Queryable, silentMs: number): Promise<OpenLine[]> => db<
  OpenLine[]
>`
  select case when o.finished_at is null then o.state else 'letting-go' end as state,
    ${shownReason(db, silentMs)} as reason, count(*)::int as operations,
    extract(epoch from now() - min(coalesce(o.finished_at, o.created_at)))::float8 as oldest_seconds
  from operation o ${jobOfOperation(db)}
  where o.settled_at is null group by 1, 2`

export interface SpanLine {
  readonly kind: string
  readonly outcome: string
  /** `waited`, `ran`. */
  readonly span: string
  /** The bound of the bucket, in seconds; the last is Infinity. */
  readonly le: number
  readonly times: number
  readonly seconds: number
}

/** How long operations waited and ran: how many fell into each bucket, and the sum of their seconds. */
export const readOperationSpans = async (db: Queryable): Promise<SpanLine[]> =>
  db<SpanLine[]>`select * from operation_span`

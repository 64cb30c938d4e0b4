import { type ReasonFacts, shownReason } from '../../../src/domain/operation/admission/shown-reason.ts'
import type { Queryable } from '../../client.ts'
import { jobOfOperation, reasonFacts } from '../waits/reason-facts.ts'

export interface OperationCount {
  readonly kind: string
  readonly force: boolean
  readonly outcome: string
  readonly reason: string
  readonly times: number
}

/** How often each kind of end has occurred. */
export const readOperationCounts = async (db: Queryable): Promise<OperationCount[]> =>
  db<OperationCount[]>`select * from operation_tally`

export interface OpenLine {
  /** `letting-go`: ended, and still active. */
  readonly state: string
  readonly reason: string
  readonly operations: number
  /** Since the oldest of them was requested; for those still active, since its end. */
  readonly oldestSeconds: number
}

/**
 * Unsettled operations, through the index of open ones: settled ones cost nothing. By the shown reason; a worker that
 * was silent for `silentMs` does not count.
 */
export const measureOpenOperations = async (db: Queryable, silentMs: number): Promise<OpenLine[]> => {
  const groups = await db<(ReasonFacts & { over: boolean; operations: number; oldestSeconds: number })[]>`
    select state, reason, over, job_state, job_wait_reason, held, retrying, attended,
      count(*)::int as operations, max(seconds)::float8 as oldest_seconds
    from (
      select o.state, o.reason, o.finished_at is not null as over, ${reasonFacts(db, silentMs)},
        extract(epoch from now() - coalesce(o.finished_at, o.created_at)) as seconds
      from operation o ${jobOfOperation(db)} where o.settled_at is null) facts
    group by state, reason, over, job_state, job_wait_reason, held, retrying, attended`
  const lines = new Map<string, OpenLine>()
  for (const group of groups) {
    const [state, reason] = [group.over ? 'letting-go' : group.state, shownReason(group)]
    const { operations = 0, oldestSeconds = 0 } = lines.get(`${state}/${reason}`) ?? {}
    lines.set(`${state}/${reason}`, {
      ...{ state, reason, operations: operations + group.operations },
      oldestSeconds: Math.max(oldestSeconds, group.oldestSeconds),
    })
  }
  return [...lines.values()]
}

export interface SpanLine {
  readonly kind: string
  readonly outcome: string
  /** `waited`, `ran`. */
  readonly span: string
  /** The upper limit of the bucket in seconds; the last is Infinity. */
  readonly le: number
  readonly times: number
  readonly seconds: number
}

/** How long operations waited and ran: the count per bucket, and the sum of their seconds. */
export const readOperationSpans = async (db: Queryable): Promise<SpanLine[]> =>
  db<SpanLine[]>`select * from operation_span`

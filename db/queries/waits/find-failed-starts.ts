import type { RecordedError } from '../../../src/errors.ts'
import type { Queryable } from '../../client.ts'

/** The end of the last start of a running batch. */
export interface FailedStart {
  readonly batch: string
  readonly state: 'failed' | 'canceled'
  readonly error: RecordedError | null
}

/** Running batches, or this one if it runs, whose last start failed. */
export const findFailedStarts = async (db: Queryable, name?: string): Promise<FailedStart[]> => db<
  FailedStart[]
>`
  select b.name as batch, last.state, last.error from batch b cross join lateral (
    select job.state, job.error from job_search s join job on job.id = s.job_id
    where s.kind = 'start-batch' and s.subject_type = 'batch' and s.subject_id = b.name
      and job.payload ->> 'purpose' = 'start'
    order by job.created_at desc, job.id desc limit 1
  ) last
  where b.state = 'running' and last.state in ('failed', 'canceled')
    and ${name === undefined ? db`true` : db`b.name = ${name}`}`

import type { Queryable } from '../../client.ts'
import type { JobEventLine } from './list-job-events.ts'

/** How far back a rare type is searched, so that one look stays cheap. */
const scanMax = 20_000

/** The newest events, newest first, whose type begins with `prefix`. For display; feeds read with a cursor. */
export const readLatestEvents = async (
  db: Queryable,
  options: { limit: number; prefix: string },
): Promise<JobEventLine[]> => db<JobEventLine[]>`
  select era, xid::text as xid, id, at, type, subject_type, subject_id, job_id, actor, from_state, to_state, reason,
    detail
  from (select * from event order by era desc, event.xid desc, id desc limit ${options.prefix === '' ? options.limit : scanMax}) newest
  where starts_with(type, ${options.prefix})
  order by era desc, newest.xid desc, id desc limit ${options.limit}`

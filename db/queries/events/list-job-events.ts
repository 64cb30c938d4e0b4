import type { Queryable } from '../../client.ts'
import type { EventRow } from '../../schema/event.ts'

/** `xid` as text: 64 bits do not fit a number. */
export type JobEventLine = Omit<EventRow, 'xid'> & { readonly xid: string }

/** The events of one job, in order. */
export const listJobEvents = async (
  db: Queryable,
  jobId: string,
  page: { after: { era: number; xid: string; id: number } | undefined; limit: number },
): Promise<JobEventLine[]> => db<JobEventLine[]>`
  select era, xid::text as xid, id, at, type, subject_type, subject_id, job_id, actor, from_state, to_state, reason,
    detail
  from event
  where job_id = ${jobId}::uuid and ${
    page.after === undefined
      ? db`true`
      : db`(era, xid, id) > (${page.after.era}::smallint, ${page.after.xid}::xid8, ${page.after.id}::bigint)`
  }
  order by era, event.xid, id limit ${page.limit}`

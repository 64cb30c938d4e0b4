import type { Queryable } from '../../client.ts'

/** Who decided what about an entry, the last time each. */
export interface EntryDecision {
  readonly did: 'approved' | 'started' | 'resolved' | 'retried' | 'forced'
  readonly by: string
  readonly at: Date
}

/**
 * From the events: who approved and started its batch, who resolved or retried the entry, and who last saved the
 * defaults of the batch, which include `force_conflict_resolution` (`forced`).
 */
export const readEntryPeople = async (
  db: Queryable,
  asked: { readonly entryId: string; readonly batch: string; readonly batchCreatedAt: Date },
): Promise<EntryDecision[]> => db<EntryDecision[]>`
  select distinct on (did) did, actor as by, at from (
    select case type when 'batch.approved' then 'approved' when 'batch.started' then 'started' else 'forced' end as did,
      actor, at
    from event
    where subject_type = 'batch' and subject_id = ${asked.batch} and job_id is null and at >= ${asked.batchCreatedAt}
      and (type in ('batch.approved', 'batch.started', 'batch.created')
        or (type = 'batch.changed' and detail -> 'fields' ? 'defaults'))
    union all
    select case type when 'entry.resolve' then 'resolved' else 'retried' end, actor, at
    from event
    where subject_type = 'entry' and subject_id = ${asked.entryId} and job_id is null
      and type in ('entry.resolve', 'entry.retry')
  ) decisions order by did, at desc`

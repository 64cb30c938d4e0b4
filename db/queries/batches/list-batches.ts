import type { Queryable } from '../../client.ts'
import type { BatchRow } from '../../schema/migration.ts'
import { entryIsCommitted } from '../entries/committed-entries.ts'
import { entryIsUnderWay } from '../entries/entry-under-way.ts'

/** A batch with the number of entries per state. */
export interface BatchLine extends BatchRow {
  readonly entries: Readonly<Record<string, number>>
}

export interface BatchFilter {
  readonly state?: string | undefined
}

/** Batches by name, with counts. */
export const listBatches = async (
  db: Queryable,
  filter: BatchFilter,
  page: { readonly after: string | undefined; readonly limit: number },
): Promise<BatchLine[]> => db<BatchLine[]>`
  with page as (
    select * from batch where ${filter.state === undefined ? db`true` : db`state = ${filter.state}`}
      and ${page.after === undefined ? db`true` : db`name > ${page.after}`}
    order by name limit ${page.limit}
  )
  select page.*, coalesce((select jsonb_object_agg(state, entries) from (
    select state, count(*)::int as entries from entry e where e.batch_id = page.id group by state) counted),
    '{}'::jsonb) as entries
  from page order by name`

/** The progress of a batch. */
export interface BatchProgress {
  /** Instances that matched in its last search. */
  readonly matched: number
  /** Used bytes of all disks. */
  readonly bytesTotal: number
  /** Of these, the bytes copied at least once. */
  readonly bytesDone: number
  /** Bytes per second over the last seconds, of running copies that have advanced within `rateHoldsMs`. */
  readonly bytesPerSecond: number
}

/**
 * The sum over a batch's copies. A complete copy counts with all its bytes, so that top-ups never reduce the sum; a
 * running first copy counts with its share.
 */
export const readBatchProgress = async (
  db: Queryable,
  batchId: string,
  rateHoldsMs: number,
): Promise<BatchProgress> => {
  const [row] = await db<BatchProgress[]>`
    with copies as (
      select (select coalesce(sum(coalesce((d ->> 'used')::float8, (d ->> 'capacity')::float8)), 0)
          from jsonb_array_elements(e.facts -> 'disks') as d) as bytes,
        e.stage <> 'background' or e.state = 'finished' as whole,
        (j.progress ->> 'done')::float8 as done, (j.progress ->> 'total')::float8 as total,
        j.state = 'running' and j.kind in ('import-instance', 'cutover-instance') as copying,
        case when (j.progress ->> 'last_progress_at')::timestamptz
            > now() - ${rateHoldsMs}::float8 * interval '1 millisecond'
          then (j.progress ->> 'rate')::float8 end as rate
      from entry e left join job j on j.id = e.job_id
      where e.batch_id = ${batchId}::uuid
    )
    select (select count(*)::int from batch_instance where batch_id = ${batchId}::uuid) as matched,
      coalesce(sum(bytes), 0)::float8 as bytes_total,
      coalesce(sum(case when whole then bytes when copying and total > 0 then bytes * least(1, done / total) else 0 end),
        0)::float8 as bytes_done,
      coalesce(sum(rate) filter (where copying), 0)::float8
        as bytes_per_second
    from copies`
  return row ?? { matched: 0, bytesTotal: 0, bytesDone: 0, bytesPerSecond: 0 }
}

/** Entries on which something is or may be in progress: a batch with such entries is not removed. */
export const countBusyEntries = async (db: Queryable, batchId: string): Promise<number> => {
  const [row] = await db<{ busy: number }[]>`
    select count(*)::int as busy from entry e left join job j on j.id = e.job_id
    where e.batch_id = ${batchId}::uuid and ${entryIsUnderWay(db)}`
  return row?.busy ?? 0
}

/** The parts of an entry that an edit of its batch can affect. */
export interface EditedLine {
  readonly id: string
  readonly state: string
  readonly stage: string
  readonly reason: string
  /** The error code of its last failed job. */
  readonly errorCode: string | null
  /** Only for committed entries: constraints ask about no others. */
  readonly facts: Readonly<Record<string, unknown>> | null
  readonly source: string
  readonly sourceKind: string
  readonly findings: readonly string[]
}

export const listEditedEntries = async (db: Queryable, batchId: string): Promise<EditedLine[]> => db<
  EditedLine[]
>`
  select e.id, e.state, e.stage, e.reason, e.error ->> 'code' as error_code,
    case when committed then e.facts end as facts, s.name as source, s.kind as source_kind,
    case when committed then array(select rule from finding f where f.instance_id = e.instance_id and not f.waived
      order by rule) else '{}'::text[] end as findings
  from entry e join site s on s.id = e.source_id cross join lateral (select ${entryIsCommitted(db)} as committed) c
  where e.batch_id = ${batchId}::uuid`

import type { EntryPlace } from '../../../src/domain/migration/entry/entry.ts'
import type { Intent } from '../../../src/domain/migration/entry/entry-facts.ts'
import { type EntryEvent, entryTable } from '../../../src/domain/migration/entry/entry-table.ts'
import { requireTransition } from '../../../src/domain/table/state-table.ts'
import type { RecordedError } from '../../../src/errors.ts'
import type { Queryable, Tx } from '../../client.ts'
import type { EntryRow } from '../../schema/migration.ts'
import { entryIsCommitted } from './committed-entries.ts'
import { jobIsAtEntry } from './entry-under-way.ts'

/** An entry with its current or last job. */
export type EntryAtWork = Omit<EntryRow, 'intent'> & {
  readonly intent: Intent | null
  readonly jobKind: string | null
  readonly jobState: string | null
  readonly jobError: RecordedError | null
  readonly jobPayload: Readonly<Record<string, unknown>> | null
  readonly jobTokens: readonly string[] | null
  readonly jobFinishedAt: Date | null
  readonly jobProgress: Readonly<Record<string, unknown>> | null
  /** A job is running for it, or it is owed a withdrawal. */
  readonly busy: boolean
  /** The database's clock. */
  readonly now: Date
}

const atWork = (db: Queryable) => db`
  e.*, j.kind as job_kind, j.state as job_state, j.error as job_error, j.payload as job_payload, j.tokens as job_tokens,
  j.finished_at as job_finished_at, j.progress as job_progress, ${jobIsAtEntry(db)} as busy, now() as now
  from entry e left join job j on j.id = e.job_id`

/**
 * Something is still to happen: also in an ended entry whose source or machine awaits its withdrawal. The wording is
 * that of the index.
 */
const hasMore = (db: Queryable) => db`
  (state not in ('finished', 'error', 'canceled') or intent is not null
    or (state <> 'finished' and (job_id is not null or source_stopped_at is not null)))`

/**
 * Entries that are due: their time has come, or their job has ended since the last look. Ended jobs are few and
 * entries with a queued job may be a hundred thousand, so the search starts from jobs that ended within
 * `endedWithinSeconds`.
 */
export const findDueEntries = async (
  db: Queryable,
  asked: { readonly limit: number; readonly endedWithinSeconds: number },
): Promise<string[]> => {
  const { limit, endedWithinSeconds } = asked
  const rows = await db<{ id: string }[]>`
    with ended as materialized (
      select id, finished_at from job where finished_at > now() - ${endedWithinSeconds}::float8 * interval '1 second'
    )
    select id from (
      (select e.id, j.finished_at as due from ended j join entry e on e.job_id = j.id
        -- A job that was ending while its entry was written carries the earlier moment of the two.
        where j.finished_at >= e.updated_at - interval '5 seconds' order by j.finished_at limit ${limit})
      union all
      (select id, look_at from entry
        where look_at <= now() and ${hasMore(db)}
        order by look_at limit ${limit})
    ) due group by id order by min(due) limit ${limit}`
  return rows.map((row) => row.id)
}

/** Locked until the transaction ends; undefined when it is gone, or another transaction has it. */
export const takeEntry = async (tx: Tx, id: string): Promise<EntryAtWork | undefined> => {
  const [row] = await tx<EntryAtWork[]>`
    select ${atWork(tx)} where e.id = ${id}::uuid for no key update of e skip locked`
  return row
}

/** The same for a person's verb, which waits for the lock. */
export const lockEntry = async (tx: Tx, id: string): Promise<EntryAtWork | undefined> => {
  const [row] = await tx<EntryAtWork[]>`select ${atWork(tx)} where e.id = ${id}::uuid for no key update of e`
  return row
}

/** For a job, in its own fenced transaction: the entry, if this job is its current one. */
export const lockEntryOfJob = async (
  tx: Tx,
  asked: { readonly entryId: string; readonly jobId: string },
): Promise<EntryAtWork | undefined> => {
  const [row] = await tx<EntryAtWork[]>`
    select ${atWork(tx)} where e.id = ${asked.entryId}::uuid and e.job_id = ${asked.jobId}::uuid
    for no key update of e`
  return row
}

/** What changes with an event besides state and stage; fields not given stay. */
export interface EntryChange {
  readonly placement?: Readonly<Record<string, unknown>> | null
  readonly pending?: Readonly<Record<string, unknown>> | null
  readonly facts?: Readonly<Record<string, unknown>>
  readonly running?: boolean
  readonly targetId?: string | null
  readonly machineRef?: string | null
  readonly sourceStoppedAt?: Date | null
  readonly sourceOffAt?: Date | null
  readonly guestUntil?: Date | null
  readonly windowId?: string | null
  readonly constraintName?: string | null
  readonly syncedAt?: Date | null
  readonly retries?: number
  readonly resolved?: boolean
  readonly force?: boolean
  readonly intent?: Intent | null
  readonly progress?: Readonly<Record<string, unknown>> | null
  readonly baseline?: Readonly<Record<string, unknown>> | null
  readonly certificateId?: string | null
  readonly reasons?: readonly Readonly<Record<string, unknown>>[]
  readonly error?: RecordedError | null
  readonly finishedAt?: Date | null
}

const jsonColumns = new Set([
  'placement',
  'pending',
  'facts',
  'intent',
  'progress',
  'baseline',
  'reasons',
  'error',
])

/**
 * Records an event of an entry, or a note on an entry that stays where it is. The table decides where the entry goes:
 * a `step` outside the table is refused. The caller holds its lock.
 */
export const writeEntry = async (
  tx: Tx,
  entry: {
    readonly id: string
    /** Not given: the entry stays where it is. */
    readonly step?: { readonly from: EntryPlace; readonly event: EntryEvent } | undefined
    readonly reason: string
    readonly message: string
    readonly tries: number
    readonly jobId: string | null
    /** Undefined: at once. */
    readonly lookAt?: Date | undefined
    readonly change?: EntryChange
  },
): Promise<void> => {
  const change = Object.entries(entry.change ?? {}).map(([name, value]) => [
    name,
    jsonColumns.has(name) && value !== null ? tx.json(value as never) : value,
  ])
  const from = entry.step?.from
  const to = entry.step && landsAt(entry.step)
  const row = {
    ...to,
    reason: entry.reason,
    message: entry.message,
    tries: entry.tries,
    jobId: entry.jobId,
    ...Object.fromEntries(change),
  }
  const written = await tx`
    update entry set ${tx(row as Record<string, never>)}, version = version + 1, updated_at = now(),
      since = case when ${to !== undefined && to.state !== from?.state} then now() else since end,
      look_at = coalesce(${entry.lookAt ?? null}::timestamptz, now())
    where id = ${entry.id}::uuid
      and ${from ? tx`state = ${from.state} and stage = ${from.stage}` : tx`true`}`
  if (from && written.count === 0)
    throw new Error(`Entry ${entry.id} is not ${from.state} any more: it was not moved under its lock.`)
}

/**
 * An entry that is to be removed, and has left something outside, stays at this place until the withdrawal has ended.
 */
const landsAt = ({ from, event }: { from: EntryPlace; event: EntryEvent }): EntryPlace => {
  const { to, stage, leavesAs } = requireTransition(entryTable, from.state, event, from.stage)
  if (to !== 'gone') return { state: to, stage: stage ?? from.stage }
  if (!leavesAs) throw new Error(`An entry that is ${from.state} leaves nothing: it is deleted.`)
  return leavesAs
}

export const deleteEntry = async (tx: Tx, id: string): Promise<void> => {
  await tx`
    with extents as (delete from entry_extent where entry_id = ${id}::uuid),
    disks as (delete from entry_disk where entry_id = ${id}::uuid)
    delete from entry where id = ${id}::uuid`
}

/** The number of entries per window of a batch. */
export const countHeldWindows = async (db: Queryable, batchId: string): Promise<Map<string, number>> => {
  const rows = await db<{ windowId: string; held: number }[]>`
    select window_id, count(*)::int as held from entry
    where window_id in (select id from batch_window where batch_id = ${batchId}::uuid) group by window_id`
  return new Map(rows.map(({ windowId, held }) => [windowId, held]))
}

/**
 * Other entries of a batch that are off, or about to be, per constraint: between power-off and finish, also during a
 * conflict or while the source is still to be started; and entries with a cutover that was sent.
 */
export const countBusy = async (
  db: Queryable,
  asked: { readonly batchId: string; readonly constraint: string; readonly but: string },
): Promise<number> => {
  const [row] = await db<{ busy: number }[]>`
    select count(*)::int as busy from entry e
    where batch_id = ${asked.batchId}::uuid and constraint_name = ${asked.constraint} and id <> ${asked.but}::uuid
      and (${entryIsCommitted(db)} or (source_stopped_at is not null and state <> 'finished')
        or (state = 'idle' and exists (select from job j where j.id = e.job_id and j.finished_at is null)))`
  return row?.busy ?? 0
}

export const countEntries = async (db: Queryable, batchId: string): Promise<Record<string, number>> => {
  const rows = await db<{ state: string; entries: number }[]>`
    select state, count(*)::int as entries from entry where batch_id = ${batchId}::uuid group by state`
  return Object.fromEntries(rows.map(({ state, entries }) => [state, entries]))
}

/** Entries whose power-off was requested, so that a reset loses hours of work: how many, and a few names. */
export const findCommitted = async (
  db: Queryable,
  batchId: string,
): Promise<{ readonly count: number; readonly names: readonly string[] }> => {
  const [row] = await db<{ count: number; names: string[] | null }[]>`
    select count(*)::int as count, (array_agg(facts ->> 'name' order by id))[1:5] as names from entry e
    where batch_id = ${batchId}::uuid and ${entryIsCommitted(db)}`
  return { count: row?.count ?? 0, names: row?.names ?? [] }
}

/**
 * Records a reset for all entries of a batch, or for one; the scheduler carries it out one by one. With force, because
 * an entry that commits after the look must not stay behind in a batch that is gone. Returns how many.
 */
export const intendReset = async (
  tx: Tx,
  which: { readonly batchId: string } | { readonly entryId: string },
): Promise<number> => {
  const result = await tx`
    update entry set intent = jsonb_build_object('verb', 'reset', 'force', true), look_at = now(),
      version = version + 1, updated_at = now()
    where ${'batchId' in which ? tx`batch_id = ${which.batchId}::uuid` : tx`id = ${which.entryId}::uuid`}`
  return result.count
}

/** Makes all entries due: what held them back may be gone. A first copy may wait for its turn. */
export const lookAtAll = async (tx: Tx, batchId: string): Promise<void> => {
  await tx`
    update entry set look_at = now(), tries = case when state in ('blocked', 'waiting') then 0 else tries end
    where batch_id = ${batchId}::uuid and (job_id is null or state in ('idle', 'background-import'))`
}

/** Assigns jobs to entries that were just made. */
export const assignJobs = async (
  tx: Tx,
  sent: readonly { readonly entryId: string; readonly jobId: string }[],
  lookAgainMs: number,
): Promise<void> => {
  await tx`
    update entry e set job_id = s.job_id, look_at = now() + ${lookAgainMs}::float8 * interval '1 millisecond',
      version = version + 1, updated_at = now()
    from unnest(${sent.map(({ entryId }) => entryId)}::uuid[], ${sent.map(({ jobId }) => jobId)}::uuid[])
      as s(entry_id, job_id)
    where e.id = s.entry_id`
}

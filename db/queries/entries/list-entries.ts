import { notAway } from '../../../src/domain/inventory/connectivity.ts'
import type { RecordedError } from '../../../src/errors.ts'
import type { Queryable } from '../../client.ts'
import type { EntryRow } from '../../schema/migration.ts'

/** An entry as the list shows it. */
export interface EntryLine
  extends Pick<
    EntryRow,
    | 'id'
    | 'instanceId'
    | 'state'
    | 'stage'
    | 'reason'
    | 'message'
    | 'since'
    | 'lookAt'
    | 'jobId'
    | 'running'
    | 'progress'
    | 'createdAt'
    | 'finishedAt'
    | 'certificateId'
    | 'sourceStoppedAt'
    | 'sourceOffAt'
    | 'guestUntil'
    | 'intent'
  > {
  readonly batch: string
  readonly name: string
  readonly source: string
  readonly target: string | null
  readonly window: string | null
  readonly jobKind: string | null
  readonly jobState: string | null
  readonly jobProgress: Readonly<Record<string, unknown>> | null
  readonly jobStartedAt: Date | null
  readonly jobClaimedAt: Date | null
  readonly jobOpen: boolean
  readonly jobError: RecordedError | null
  readonly batchState: string
  readonly windowEndsAt: Date | null
  /** Its source and target, if they do not answer. */
  readonly away: readonly AwayLine[]
  /** The database's clock. */
  readonly now: Date
}

export interface AwayLine {
  readonly role: string
  readonly name: string
  readonly connectivity: string
  readonly since: string
  readonly message: string | null
}

/** One entry with everything. */
export interface EntryDetail extends EntryLine, Omit<EntryRow, keyof EntryLine> {
  readonly windowStartsAt: Date | null
}

export interface EntryFilter {
  readonly batch?: string | undefined
  readonly state?: string | undefined
  readonly source?: string | undefined
  readonly target?: string | undefined
  readonly instanceId?: string | undefined
}

/** A site (`s` or `t`) that is known to be away. */
const awayLine = (db: Queryable, site: 's' | 't') => {
  const of = db(site)
  return db`
    select ${of}.role, ${of}.name, ${of}.connectivity, ${of}.connectivity_since as since,
      ${of}.connectivity_error ->> 'message' as message
    where ${of}.connectivity <> all(${notAway as string[]}::text[])`
}

/** The columns of a line of `entryJoins`. */
export const lineColumns = (db: Queryable) => db`
  e.id, e.instance_id, e.state, e.stage, e.reason, e.message, e.since, e.look_at, e.job_id, e.running, e.progress,
  e.created_at, e.finished_at, e.certificate_id, b.name as batch, e.facts ->> 'name' as name, s.name as source,
  coalesce(e.placement ->> 'target', b.defaults -> 'placement' ->> 'target') as target, w.name as window,
  j.kind as job_kind, j.state as job_state, j.progress as job_progress, j.started_at as job_started_at,
  j.claimed_at as job_claimed_at, j.id is not null and j.finished_at is null as job_open, j.error as job_error,
  e.source_stopped_at, e.source_off_at, e.guest_until, e.intent, b.state as batch_state, w.ends_at as window_ends_at,
  (select coalesce(jsonb_agg(a), '[]'::jsonb) from (${awayLine(db, 's')} union all ${awayLine(db, 't')}) a) as away,
  now() as now`

export const entryJoins = (db: Queryable) => db`
  entry e join batch b on b.id = e.batch_id join site s on s.id = e.source_id
    left join batch_window w on w.id = e.window_id left join job j on j.id = e.job_id
    left join site t on t.role = 'target'
      and t.name = coalesce(e.placement ->> 'target', b.defaults -> 'placement' ->> 'target')`

/** The condition on `e` (entry) and `b` (its batch). */
export const entryFits = (db: Queryable, filter: EntryFilter) => db`
  ${filter.batch === undefined ? db`true` : db`e.batch_id = (select id from batch where name = ${filter.batch})`}
  and ${filter.state === undefined ? db`true` : db`e.state = ${filter.state}`}
  and ${
    filter.source === undefined
      ? db`true`
      : db`e.source_id = (select id from site where role = 'source' and name = ${filter.source})`
  }
  and ${
    filter.target === undefined
      ? db`true`
      : db`coalesce(e.placement ->> 'target', b.defaults -> 'placement' ->> 'target') = ${filter.target}`
  }
  and ${filter.instanceId === undefined ? db`true` : db`e.instance_id = ${filter.instanceId}::uuid`}`

/** Entries in the order of their creation. */
export const listEntries = async (
  db: Queryable,
  filter: EntryFilter,
  page: { readonly after: string | undefined; readonly limit: number },
): Promise<EntryLine[]> => db<EntryLine[]>`
  select ${lineColumns(db)} from ${entryJoins(db)}
  where ${entryFits(db, filter)} and ${page.after === undefined ? db`true` : db`e.id > ${page.after}::uuid`}
  order by e.id limit ${page.limit}`

/** These entries, in list order. */
export const findEntries = async (db: Queryable, ids: readonly string[]): Promise<EntryLine[]> => db<
  EntryLine[]
>`
  select ${lineColumns(db)} from ${entryJoins(db)} where e.id = any(${ids as string[]}::uuid[]) order by e.id`

export const findEntry = async (db: Queryable, id: string): Promise<EntryDetail | undefined> => {
  const [row] = await db<EntryDetail[]>`
    select e.*, ${lineColumns(db)}, w.starts_at as window_starts_at
    from ${entryJoins(db)} where e.id = ${id}::uuid`
  return row
}

/** The effects of an entry's jobs that may have to be undone: how many, and the debts among them. */
export const countEntryEffects = async (
  db: Queryable,
  id: string,
): Promise<{ readonly open: number; readonly debts: number }> => {
  const [row] = await db<{ open: number; debts: number }[]>`
    select count(*) filter (where state = 'intended')::int as open, count(*) filter (where state = 'debt')::int as debts
    from effect where subject_type = 'entry' and subject_id = ${id} and state in ('intended', 'debt')`
  return row ?? { open: 0, debts: 0 }
}

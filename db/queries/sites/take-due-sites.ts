import type { Tx } from '../../client.ts'

export interface DueSite {
  readonly id: string
  readonly role: string
  readonly name: string
  /** When it was due, as the database wrote it: the same for every conductor. */
  readonly due: string
}

/** An unfinished job of one of these kinds for the site. */
const busy = (tx: Tx, kinds: readonly string[]) => tx`
  exists (select from job_search f join job j on j.id = f.job_id
    where f.subject_type = s.role and f.subject_id = s.name and f.kind = any(${kinds as string[]}::text[])
      and j.finished_at is null)`

/**
 * Sites whose connection check is due, the longest first. Taking one postpones it, so that two conductors never take
 * the same; the check itself sets the next time.
 */
export const takeDueChecks = async (tx: Tx, limit: number): Promise<DueSite[]> => tx<DueSite[]>`
  with due as (
    select s.id, s.next_check_at from site s
    where s.next_check_at <= now() and not ${busy(tx, ['check-connection'])}
    order by s.next_check_at limit ${limit} for no key update skip locked
  )
  update site s set next_check_at = now()
      + greatest(coalesce((s.settings->>'check_interval_seconds')::float8, 300), 10) * interval '1 second'
  from due where s.id = due.id
  returning s.id, s.role, s.name, due.next_check_at::text as due`

/** The same for syncs: of sites that can be reached and have no running sync. */
export const takeDueSyncs = async (tx: Tx, limit: number): Promise<DueSite[]> => tx<DueSite[]>`
  with due as (
    select s.id, s.next_sync_at from site s
    where s.next_sync_at <= now() and s.connectivity = 'ok'
      and coalesce((s.settings->>'sync_interval_seconds')::float8, 600) > 0
      and not ${busy(tx, ['sync-source', 'sync-target'])}
    order by s.next_sync_at limit ${limit} for no key update of s skip locked
  )
  update site s set next_sync_at = now()
      + coalesce((s.settings->>'sync_interval_seconds')::float8, 600) * interval '1 second'
  from due where s.id = due.id
  returning s.id, s.role, s.name, due.next_sync_at::text as due`

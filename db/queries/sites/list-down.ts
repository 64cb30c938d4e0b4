import type { Queryable } from '../../client.ts'
import { type VerbChoice, verbFits } from '../entries/entries-for-verb.ts'
import { type EntryLine, entryJoins, lineColumns } from '../entries/list-entries.ts'

/** The sources in question: of a batch, from or to a platform, for a verb on many, or all. */
export interface DownFilter {
  readonly batch?: string | undefined
  readonly site?: { readonly role: string; readonly name: string } | undefined
  readonly choice?: VerbChoice | undefined
}

/**
 * Entries whose source is off because of Drover, the longest first, then those whose guest is still shutting down; and
 * the counts of both.
 */
export const listDown = async (
  db: Queryable,
  { batch, site, choice }: DownFilter,
  limit: number,
): Promise<{ readonly count: number; readonly shuttingDown: number; readonly rows: EntryLine[] }> => {
  const runs = db`(e.source_off_at is null and e.guest_until is not null)`
  const rows = await db<(EntryLine & { down: number; shuttingDown: number })[]>`
    select ${lineColumns(db)}, (count(*) over ())::int as down,
      (count(*) filter (where ${runs}) over ())::int as shutting_down from ${entryJoins(db)}
    where e.source_stopped_at is not null and e.state <> 'finished'
      and ${batch === undefined ? db`true` : db`b.name = ${batch}`}
      and ${choice === undefined ? db`true` : verbFits(db, choice)}
      and ${
        site === undefined
          ? db`true`
          : db`((s.role = ${site.role} and s.name = ${site.name}) or (t.role = ${site.role} and t.name = ${site.name}))`
      }
    order by ${runs}, coalesce(e.source_off_at, e.source_stopped_at), e.id limit ${limit}`
  return { count: rows[0]?.down ?? 0, shuttingDown: rows[0]?.shuttingDown ?? 0, rows }
}

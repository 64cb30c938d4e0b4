import type { Queryable } from '../../client.ts'
import { entryUses, type SiteOfEntries } from './entries-using-site.ts'

/** Entries, by the name of their instance: how many, and the first of them. */
export interface SomeEntries {
  readonly count: number
  readonly names: readonly string[]
}

const counted = async (db: Queryable, where: ReturnType<Queryable>): Promise<SomeEntries> => {
  const [row] = await db<{ count: number; names: string[] | null }[]>`
    select count(*)::int as count, (array_agg(e.facts ->> 'name' order by e.id))[1:5] as names from entry e where ${where}`
  return { count: row?.count ?? 0, names: row?.names ?? [] }
}

/** The finished entries of a batch: forgotten with it. */
export const findFinished = (db: Queryable, batchId: string): Promise<SomeEntries> =>
  counted(db, db`e.batch_id = ${batchId}::uuid and e.state = 'finished'`)

/** The finished entries of a source or target: forgotten with it. */
export const findFinishedOf = (db: Queryable, site: SiteOfEntries): Promise<SomeEntries> =>
  counted(db, db`${entryUses(db, site)} and e.state = 'finished'`)

/** Unfinished entries that have or may have a copy on their target, by the rule of `hasLeftovers`. */
export const findLeftCopies = (db: Queryable, batchId: string): Promise<SomeEntries> =>
  counted(
    db,
    db`e.batch_id = ${batchId}::uuid and e.state <> 'finished'
      and (e.machine_ref is not null or e.placement is not null)`,
  )

import { placesOfVerb } from '../../../src/domain/migration/entry/entry-table.ts'
import type { Queryable } from '../../client.ts'
import { type EntryFilter, entryFits } from './list-entries.ts'

/** The entries that a person's verb is meant for. */
export interface VerbChoice extends EntryFilter {
  readonly verb: 'cancel' | 'retry' | 'resolve'
  /** Exactly these entries, in any state: a refusal is reported per entry. */
  readonly ids?: readonly string[] | undefined
}

const placesOf = (verb: VerbChoice['verb']): string[] =>
  placesOfVerb(verb).map(({ state, stage }) => `${state}/${stage}`)

/** The condition on `e` and `b`: the verb is possible and not requested already. */
export const verbFits = (db: Queryable, choice: VerbChoice) => {
  const { verb, ids, state } = choice
  if (ids !== undefined) return db`${entryFits(db, choice)} and e.id = any(${ids as string[]}::uuid[])`
  const fresh = verb === 'cancel' ? db`e.intent is null` : db`true`
  // A cancel of cancelled entries is meant for those with leftovers.
  const possible =
    verb === 'cancel' && state === 'canceled'
      ? db`(e.machine_ref is not null or e.placement is not null)`
      : db`(e.state || '/' || e.stage) = any(${placesOf(verb)}::text[])`
  return db`${entryFits(db, choice)} and ${fresh} and ${possible}`
}

const after = (db: Queryable, id: string | undefined) =>
  id === undefined ? db`true` : db`e.id > ${id}::uuid`

/** How many entries follow a position in the list, and the first of them. */
export const chooseForVerb = async (
  db: Queryable,
  choice: VerbChoice,
  page: { readonly after: string | undefined; readonly limit: number },
): Promise<{ readonly matched: number; readonly ids: readonly string[] }> => {
  const rows = await db<{ id: string; matched: number }[]>`
    select e.id, count(*) over ()::int as matched from entry e join batch b on b.id = e.batch_id
    where ${verbFits(db, choice)} and ${after(db, page.after)} order by e.id limit ${page.limit}`
  return { matched: rows[0]?.matched ?? 0, ids: rows.map(({ id }) => id) }
}

import type { SiteRole } from '../../../src/domain/inventory/site-settings.ts'
import { removalKind } from '../../../src/domain/template/version.ts'
import type { Queryable, Tx } from '../../client.ts'

export interface UsedBy {
  readonly count: number
  /** A few of them: instance, state and batch. */
  readonly some: readonly string[]
}

const usedBy = <Row extends { readonly count: number }>(
  rows: readonly Row[],
  say: (row: Row) => string,
): UsedBy => ({ count: rows[0]?.count ?? 0, some: rows.map(say) })

export interface SiteOfEntries {
  readonly id: string
  readonly role: SiteRole
  readonly name: string
}

/** A condition: the entry `e` comes from this source, or is placed on this target. */
export const entryUses = (db: Queryable, { id, role, name }: SiteOfEntries) =>
  role === 'source'
    ? db`e.source_id = ${id}::uuid`
    : db`(e.target_id = ${id}::uuid or (e.target_id is null and e.placement ->> 'target' = ${name}))`

/** Unfinished entries from a source or to a target. */
export const findEntriesUsing = async (db: Queryable, site: SiteOfEntries): Promise<UsedBy> => {
  const rows = await db<{ count: number; name: string; batch: string; state: string }[]>`
    select count(*) over ()::int as count, e.facts ->> 'name' as name, b.name as batch, e.state
    from entry e join batch b on b.id = e.batch_id left join job j on j.id = e.job_id
    where ${entryUses(db, site)} and (e.state <> 'finished' or e.intent is not null or j.finished_at is null and j.id is not null)
    order by e.id limit 5`
  return usedBy(rows, ({ name, batch, state }) => `${name} in ${batch} (${state})`)
}

/**
 * What is still to be undone on a site, whoever did it: an undoer that finds no site has nothing to undo. Planned removals
 * of templates do not count: the object of each is a copy of an image, which is in the way by itself.
 */
export const findDebtsOn = async (
  db: Queryable,
  { role, name }: Pick<SiteOfEntries, 'role' | 'name'>,
): Promise<UsedBy> => {
  const subjects = ['entry', ...(role === 'source' ? ['instance'] : ['machine', 'template', 'image'])]
  const rows = await db<{ count: number; kind: string; name: string }[]>`
    select count(*) over ()::int as count, kind, name
    from effect where platform = ${name} and subject_type = any(${subjects}::text[]) and state = 'debt'
      and kind <> ${removalKind} order by id limit 5`
  return usedBy(rows, ({ kind, name }) => `${kind} "${name}"`)
}

/** Operations on machines of a target that have not ended or not settled. */
export const findOperationsOn = async (db: Queryable, siteId: string): Promise<UsedBy> => {
  const rows = await db<{ count: number; kind: string; force: boolean; name: string; state: string }[]>`
    select count(*) over ()::int as count, o.kind, o.force, m.name, o.state
    from operation o join machine m on m.id = o.machine_id
    where m.target_id = ${siteId}::uuid and o.settled_at is null order by o.id limit 5`
  return usedBy(rows, ({ kind, force, name, state }) => `${kind}${force ? '!' : ''} of ${name} (${state})`)
}

/** The sites of these that exist; none of them can be removed before the transaction ends. */
export const holdSites = async (tx: Tx, ids: readonly string[]): Promise<ReadonlySet<string>> => {
  const rows = await tx<{ id: string }[]>`
    select id from site where id = any(${ids as string[]}::uuid[]) order by id for key share`
  return new Set(rows.map(({ id }) => id))
}

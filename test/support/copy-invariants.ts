import type { Db, Queryable } from '../../db/client.ts'
import type { EntryWorld } from './entry-world.ts'
import { effects } from './invariants.ts'
import { checkMigration } from './migration-invariants.ts'

/** A machine at a target that carries the tag of an entry. */
export interface TaggedMachine {
  /** As the ledger calls the target. */
  readonly target: string
  readonly ref: string
  readonly entryId: string
}

/** All machines of a lab that carry the tag of an entry, whether or not the ledger knows of them. */
export const taggedMachines = async (db: Queryable, labDb: Queryable): Promise<TaggedMachine[]> => {
  const targets = await db<{ name: string; endpoint: string }[]>`
    select name, endpoint from site where role = 'target'`
  const machines = await labDb<{ site: string; ref: string; entryId: string }[]>`
    select site, ref, owner ->> 'drover.entry' as entry_id from lab.machine
    where owner ->> 'drover.entry' is not null`
  return machines.flatMap(({ site, ref, entryId }) => {
    const target = targets.find(({ endpoint }) => endpoint.endsWith(`/sites/${site}`))
    return target ? [{ target: target.name, ref, entryId }] : []
  })
}

/**
 * Copies of ours that nobody accounts for: no entry that has it or is at work on it, no machine that was handed over, and
 * nothing that is intended, owed or taken over by a person. And machines that are said to have been migrated, without the
 * proof of it.
 */
export const findStrayCopies = async (db: Queryable, tagged: readonly TaggedMachine[]): Promise<string[]> => {
  const rows = await db<{ what: string }[]>`
    with tagged as (
      select * from unnest(${tagged.map(({ target }) => target)}::text[], ${tagged.map(({ ref }) => ref)}::text[],
        ${tagged.map(({ entryId }) => entryId)}::text[]) as t(target, ref, entry)
    )
    select format('copy: %s of %s was made for entry %s, and nobody accounts for it', t.ref, t.target, t.entry) as what
    from tagged t
    where not exists (
        select from entry e left join job j on j.id = e.job_id
        where e.id::text = t.entry and (e.machine_ref = t.ref or (j.id is not null and j.finished_at is null)))
      and not exists (
        select from machine m join site s on s.id = m.target_id
        where s.name = t.target and m.ref = t.ref and m.origin = 'migrated' and m.gone_at is null)
      and not exists (
        select from effect f join job j on j.id = f.job_id
        where f.subject_type = 'entry' and f.subject_id = t.entry and f.platform = t.target
          and f.kind in ('target-machine', 'target-clean-up')
          and (f.state in ('debt', 'waived') or (f.state in ('intended', 'done') and j.finished_at is null)))
    union all
    select format('copy: machine %s is said to have been migrated, and no certificate says so', m.ref)
    from machine m where m.origin = 'migrated' and m.gone_at is null
      and not exists (
        select from certificate c where c.entry_id = m.entry_id or c.instance_id = m.instance_id)`
  return rows.map(({ what }) => what)
}

/** Both as they are now: for when nothing is under way, or the difference of a moment is no matter. */
export const checkCopies = async (
  db: Db,
  lab: { readonly database: { readonly db: Db } },
): Promise<string[]> => findStrayCopies(db, await taggedMachines(db, lab.database.db))

/**
 * All that the laws say of entries, of what they left outside and of its record: for tests whose workers end waits by hand,
 * which leaves the ledger's own histories torn.
 */
export const checkEntries = async ({ db, lab }: Pick<EntryWorld, 'db' | 'lab'>): Promise<string[]> => [
  ...(await checkMigration(db)),
  ...(await checkCopies(db, lab)),
  ...(await effects(db)),
]

import type { Queryable } from '../client.ts'

/** What a machine became: its copy on a target has taken over, or is about to. */
export interface Migrated {
  readonly batch: string
  readonly state: string
}

/** We have switched the source off, or are through. */
const stays = (db: Queryable) => db`(e.source_stopped_at is not null or e.state = 'finished')`

/** The migration that this instance has behind it, or is in the last part of; its machine at the source stays off. */
export const findMigrated = async (db: Queryable, instanceId: string): Promise<Migrated | undefined> => {
  const [row] = await db<Migrated[]>`
    select b.name as batch, e.state from entry e join batch b on b.id = e.batch_id
    where e.instance_id = ${instanceId}::uuid and ${stays(db)}`
  return row
}

/** The same for a machine by its id at the source. */
export const findMigratedMachine = async (
  db: Queryable,
  machine: { readonly siteId: string; readonly ref: string },
): Promise<Migrated | undefined> => {
  const [row] = await db<Migrated[]>`
    select b.name as batch, e.state from instance i join entry e on e.instance_id = i.id
    join batch b on b.id = e.batch_id
    where i.site_id = ${machine.siteId}::uuid and i.ref = ${machine.ref} and ${stays(db)} limit 1`
  return row
}

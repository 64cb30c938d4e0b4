import type { Queryable } from '../../client.ts'

/** An unfinished migration that has switched its source off: nobody else may touch the source. */
export interface HeldOff {
  readonly batch: string
}

const isHeldOff = (db: Queryable) => db`e.source_stopped_at is not null and e.state <> 'finished'`

/** The migration that has switched this instance off. */
export const findHeldOff = async (db: Queryable, instanceId: string): Promise<HeldOff | undefined> => {
  const [row] = await db<HeldOff[]>`
    select b.name as batch from entry e join batch b on b.id = e.batch_id
    where e.instance_id = ${instanceId}::uuid and ${isHeldOff(db)}`
  return row
}

/** The same for a machine by its ref on the source. */
export const findHeldOffMachine = async (
  db: Queryable,
  machine: { readonly siteId: string; readonly ref: string },
): Promise<HeldOff | undefined> => {
  const [row] = await db<HeldOff[]>`
    select b.name as batch from instance i join entry e on e.instance_id = i.id
    join batch b on b.id = e.batch_id
    where i.site_id = ${machine.siteId}::uuid and i.ref = ${machine.ref} and ${isHeldOff(db)} limit 1`
  return row
}

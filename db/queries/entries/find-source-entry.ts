import type { Queryable, Tx } from '../../client.ts'
import type { MachineRow } from '../../schema/operation.ts'
import { isAnotherPlace, isSamePlace } from '../instances/same-place.ts'
import { entryIsCommitted } from './committed-entries.ts'

/**
 * Entries (`e`) whose source is the machine `m`: a platform that is registered as source and as target shows the same
 * machine as an instance and as a machine. It is recognised by its id, and by the platform or the UUID. The copy on
 * the target has the same UUID but is on another platform, and its entry knows it.
 */
const entriesFrom = (db: Queryable) => db`
  (select i.id from instance i where m.uuid <> '' and i.uuid = m.uuid and i.ref = m.ref
    union
    select i.id from site a join site b on b.role = 'source' and ${isSamePlace(db)}
      join instance i on i.site_id = b.id and i.ref = m.ref and i.gone_at is null
    where a.id = m.target_id) known
  join instance i on i.id = known.id join entry e on e.instance_id = i.id
  left join site a on a.id = i.site_id left join site b on b.id = m.target_id
  where not ${isAnotherPlace(db)} and not (e.target_id is not distinct from m.target_id and e.machine_ref is not distinct from m.ref)
    and (e.state = 'finished' or i.frozen_by is not null or e.source_stopped_at is not null or ${entryIsCommitted(db)})`

/** A condition: the machine `m` is the source of a migration that holds it or has finished. */
export const isSource = (db: Queryable) => db`exists (select from ${entriesFrom(db)})`

/** The migration of which a machine is the source. */
export interface SourceEntry {
  readonly entryId: string
  /** It has finished: the VM runs on its target. */
  readonly over: boolean
}

/** The migration of which this machine is the source, during it and for ever after its finish. */
export const findSourceEntry = async (tx: Tx, machine: MachineRow): Promise<SourceEntry | null> => {
  const [row] = await tx<SourceEntry[]>`
    select e.id as entry_id, e.state = 'finished' as over
    from machine m cross join lateral (select e.* from ${entriesFrom(tx)} for share of e) e
    where m.id = ${machine.id}::uuid order by e.state = 'finished', e.id limit 1`
  return row ?? null
}

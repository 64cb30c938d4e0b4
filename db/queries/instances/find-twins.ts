import type { Queryable } from '../../client.ts'
import { isCertifiedPlace } from './certified-place.ts'
import { isSamePlace } from './same-place.ts'
import { tellsApart } from './tells-apart.ts'

/** A machine by its place. The UUID is what the caller knows; the recorded UUID counts as well. */
export interface MachineAt {
  readonly siteId: string
  readonly ref: string
  readonly uuid: string
}

/** The requester, whose own work does not count against it. */
export interface StartAsker {
  readonly jobId: string | null
  /** The entry of the migration. */
  readonly entryId: string | null
}

/** Evidence that a machine is the same VM, or that the machine itself is a copy of ours. */
export interface TwinLine {
  readonly relation: 'self' | 'copy' | 'original' | 'same-uuid'
  /** When it was certified. */
  readonly provenAt: Date | null
  /** Null: a site that is not registered any more. */
  readonly siteId: string | null
  /** Empty: its name is unknown. */
  readonly site: string
  readonly ref: string
  readonly name: string
  /** As last seen; null: this line does not tell. */
  readonly power: string | null
  readonly gone: boolean
  /** What may start it at any moment: `operation/<id>`, `migration/<id>` or `job/<id>`. */
  readonly starting: string | null
  /** For a migration: its batch and the state of its entry. */
  readonly batch: string | null
  readonly entryState: string | null
}

/** The place in question under every registered name, and the records of the machine there. */
const selves = (db: Queryable, { siteId, ref, uuid }: MachineAt) => db`
  here as materialized (
    select b.id, b.role, b.name from site a join site b on b.id = a.id or ${isSamePlace(db)}
    where a.id = ${siteId}::uuid
  ), self_instance as materialized (
    select i.id, i.uuid from instance i join here h on h.id = i.site_id where i.ref = ${ref} and i.gone_at is null
  ), self_machine as materialized (
    select m.* from machine m join here h on h.id = m.target_id where m.ref = ${ref} and m.gone_at is null
  ), uuids as materialized (
    select distinct u.uuid from (
      select uuid from self_instance union all select uuid from self_machine union all select ${uuid}) u
    where ${tellsApart(db, db`u.uuid`)}
  ), made as materialized (
    select e.instance_id, case when e.state = 'finished' then coalesce(e.finished_at, e.updated_at) end as proven_at
    from entry e join here h on h.id = e.target_id
    where e.machine_ref = ${ref}
    union all
    select c.instance_id, c.created_at from certificate c join here h on h.role = 'target'
      and h.name = c.document -> 'target' ->> 'name'
    where c.document -> 'target' ->> 'machine' = ${ref}
      and (c.document -> 'instance' ->> 'uuid' in (select uuid from uuids) or not exists (select from uuids))
    union all
    select m.instance_id, case when m.origin = 'migrated' then m.created_at end from self_machine m
    where m.origin <> 'adopted'
  ), family as materialized (
    select id from self_instance union select instance_id from made where instance_id is not null
  )`

/** A condition: the machine at `site` with `ref` is not the machine itself. */
const isAnother = (db: Queryable, ref: string, site: ReturnType<Queryable>, its: ReturnType<Queryable>) =>
  db`not (${its} = ${ref} and ${site} in (select id from here))`

/** A condition: a column holds another id; null differs from every id. */
const isNot = (db: Queryable, column: ReturnType<Queryable>, id: string | null) =>
  id === null ? db`true` : db`${column} is distinct from ${id}::uuid`

// Arrays, because Postgres reads a whole table for `in (select …) or …`, but uses two indexes for `any(array) or …`.
const family = (db: Queryable) => db`array(select id from family)`
const uuids = (db: Queryable) => db`array(select uuid from uuids)`

/**
 * A condition: the machine now at the place is not known to be the copy of another VM. A platform that was
 * reinstalled, or whose refs are names, reuses refs.
 */
const notRetaken = (db: Queryable, site: ReturnType<Queryable>, ref: ReturnType<Queryable>) => db`not exists (
  select from machine n where n.target_id = ${site} and n.ref = ${ref} and n.gone_at is null and n.origin <> 'adopted'
    and n.instance_id is not null and n.instance_id not in (select id from family)
    and n.uuid not in (select uuid from uuids))`

/** Copies that a sync has seen, and other machines with the same UUID. */
const machines = (db: Queryable, at: MachineAt, by: StartAsker) => db`
  select case when m.instance_id in (select id from family) then 'copy' else 'same-uuid' end as relation,
    case when m.origin = 'migrated' then m.created_at end as proven_at, m.target_id as site_id, t.name as site, m.ref, m.name, m.power,
    m.gone_at is not null as gone,
    (select 'operation/' || o.id from operation o
      where o.machine_id = m.id and o.state in ('pending', 'running') and o.kind in ('start', 'restart', 'wake', 'restore')
        and ${isNot(db, db`o.job_id`, by.jobId)} limit 1) as starting,
    null::text as batch, null::text as entry_state
  from machine m join site t on t.id = m.target_id
  where (m.instance_id = any(${family(db)}) or (m.gone_at is null and m.uuid <> '' and m.uuid = any(${uuids(db)})))
    and ${isAnother(db, at.ref, db`m.target_id`, db`m.ref`)} and ${isNot(db, db`m.entry_id`, by.entryId)}`

/** Copies recorded in entries. */
const copies = (db: Queryable, at: MachineAt, by: StartAsker) => db`
  select 'copy', case when e.state = 'finished' then coalesce(e.finished_at, e.updated_at) end, t.id, coalesce(t.name, e.placement ->> 'target', ''), coalesce(e.machine_ref, ''), i.name, null,
    false, case when e.state not in ('finished', 'error', 'canceled') then 'migration/' || e.id end, b.name, e.state
  from entry e join batch b on b.id = e.batch_id join instance i on i.id = e.instance_id left join site t on t.role = 'target'
    and (t.id = e.target_id or (e.target_id is null and t.name = e.placement ->> 'target'))
  where e.instance_id = any(${family(db)}) and (e.machine_ref is not null or e.state = 'finished')
    and ${isAnother(db, at.ref, db`coalesce(t.id, e.target_id, e.id)`, db`coalesce(e.machine_ref, '')`)}
    and ${notRetaken(db, db`t.id`, db`e.machine_ref`)}
    and ${isNot(db, db`e.id`, by.entryId)}`

/** Certified copies, whatever became of other records. */
const certified = (db: Queryable, at: MachineAt) => db`
  select 'copy', c.created_at, t.id, c.document -> 'target' ->> 'name', c.document -> 'target' ->> 'machine',
    c.document -> 'target' ->> 'machine_name', null, false, null, null, null
  from certificate c left join site t on ${isCertifiedPlace(db)}
  where (c.instance_id = any(${family(db)}) or c.document -> 'instance' ->> 'uuid' = any(${uuids(db)}))
    and ${isAnother(db, at.ref, db`coalesce(t.id, ${at.siteId}::uuid)`, db`c.document -> 'target' ->> 'machine'`)}
    and ${notRetaken(db, db`t.id`, db`c.document -> 'target' ->> 'machine'`)}`

/** A condition: the instance `i` is the original of the machine, by a certificate. Its record may be a later one. */
const isCertifiedSource = (db: Queryable, { ref }: MachineAt) => db`exists (
  select from certificate c join here h on h.role = 'target' and h.name = c.document -> 'target' ->> 'name'
  where c.document -> 'target' ->> 'machine' = ${ref} and c.document -> 'source' ->> 'machine' = i.ref
    and c.document -> 'instance' ->> 'uuid' = i.uuid and i.uuid <> '')`

/** Its original, and instances with the same UUID. The power in a frozen record is outdated. */
const originals = (db: Queryable, at: MachineAt, by: StartAsker) => db`
  select case when i.id in (select instance_id from made) or ${isCertifiedSource(db, at)} then 'original' else 'same-uuid' end, null, i.site_id, s.name,
    i.ref, i.name, case when i.frozen_by is null and e.id is null then i.facts ->> 'power_state' end, false,
    coalesce(
      (select 'job/' || j.id from job_search js join job j on j.id = js.job_id
        where js.subject_type = 'instance' and js.subject_id = i.id::text and j.finished_at is null
          and ${isNot(db, db`j.id`, by.jobId)}
          and ((j.kind = 'power-instance' and j.payload ->> 'verb' in ('start', 'restart'))
            or (j.kind = 'track-instance' and j.payload ->> 'verb' = 'enable')) limit 1),
      case when ${isNot(db, db`e.id`, by.entryId)} and e.state <> 'finished'
        and (e.state not in ('error', 'canceled') or e.source_stopped_at is not null) then 'migration/' || e.id end),
    b.name, e.state
  from instance i join site s on s.id = i.site_id left join entry e on e.instance_id = i.id
    left join batch b on b.id = e.batch_id
  where i.gone_at is null and (i.id = any(array(select instance_id from made)) or i.uuid = any(${uuids(db)}))
    and ${isAnother(db, at.ref, db`i.site_id`, db`i.ref`)}`

/**
 * All evidence that a machine is the same VM as this one, on any site: records of migrations, certificates, and every
 * sync that saw its UUID. The answer depends on no single row.
 */
export const findTwins = async (db: Queryable, at: MachineAt, by: StartAsker): Promise<TwinLine[]> => db<
  TwinLine[]
>`
  with ${selves(db, at)}
  ${machines(db, at, by)}
  union all ${copies(db, at, by)}
  union all ${certified(db, at)}
  union all ${originals(db, at, by)}
  union all select 'self', proven_at, ${at.siteId}::uuid, '', ${at.ref}, '', null, false, null, null, null from made`

import { hostIsSilent } from '../../../src/domain/operation/kinds/phase.ts'
import type { Tx } from '../../client.ts'
import type { MergeAt, MergePage } from './merge-instances.ts'
import { isMissing } from './missing-instances.ts'

/** A merge of what a target's reading told of its machines. */
export interface MachineMerge extends MergeAt {
  /** By the database's clock. What was recorded of a machine after this is newer than the reading. */
  readonly begunAt: Date
  readonly target: string
  readonly actor: string
  /** Without an event per machine. */
  readonly quiet: boolean
}

export interface MergedMachines {
  readonly appeared: number
  readonly changed: number
  readonly returned: number
}

const staged = (tx: Tx, at: MachineMerge) => tx`
  s.job_id = ${at.jobId}::uuid and s.epoch = ${at.epoch}::bigint and s.kind = 'instance'`

/** Hosts that do not answer: what the reading says of their machines is outdated. */
const silentHosts = (tx: Tx, at: MachineMerge) => tx`
  select name from host where site_id = ${at.siteId}::uuid and gone_at is null
    and facts->>'state' in ('not-responding', 'disconnected')`

/** A change for people: the value before and after. */
const changes = (tx: Tx) => tx`
  jsonb_strip_nulls(jsonb_build_object(
    'name', case when b.name <> u.name then jsonb_build_array(b.name, u.name) end,
    'uuid', case when b.uuid <> u.uuid then jsonb_build_array(b.uuid, u.uuid) end,
    'project', case when b.project <> u.project then jsonb_build_array(b.project, u.project) end,
    'host', case when b.host <> u.host then jsonb_build_array(b.host, u.host) end,
    'power', case when b.power <> u.power then jsonb_build_array(b.power, u.power) end,
    'cpus', case when b.cpus <> u.cpus then jsonb_build_array(b.cpus, u.cpus) end,
    'memory', case when b.memory <> u.memory then jsonb_build_array(b.memory, u.memory) end))`

/** What becomes of a known machine (`m`) by its reading (`p`), as conditions and values. */
const becomes = (tx: Tx, at: MachineMerge) => {
  const newer = tx`m.seen_at > ${at.begunAt}`
  const stranger = tx`(m.gone_at is not null and m.uuid <> p.uuid and m.uuid <> '' and p.uuid <> '')`
  const entryId = tx`
    case when ${stranger} then p.entry_id when m.origin = 'migrated' then m.entry_id else p.entry_id end`
  // A copy of an entry stays a copy, whatever becomes of the entry, until it is certified.
  const origin = tx`case when m.origin = 'migrated' and not ${stranger} then 'migrated'
    when p.entry_id is not null or (m.origin = 'copy' and not ${stranger}) then 'copy' else 'adopted' end`
  const instanceId = tx`case when ${stranger} then p.instance_id when m.origin = 'migrated' then m.instance_id
    else coalesce(p.instance_id, m.instance_id) end`
  // The saved state of a machine that runs is cleared separately.
  const ranSince = tx`not ${newer} and m.power <> 'on' and p.power = 'on'`
  return { newer, stranger, entryId, origin, instanceId, ranSince }
}

/**
 * Merges a page of the read machines, in the order of their refs: new ones are inserted, known ones updated if
 * changed. Power and host recorded after the start of the reading are kept. The row of a machine held by an unfinished
 * entry records that entry. A machine that was gone and has another UUID now is a foreign machine under an old ref:
 * people's decisions were about another machine.
 */
export const mergeMachinePage = async (
  tx: Tx,
  at: MachineMerge,
  page: MergePage,
): Promise<MergedMachines & { readonly last: string | undefined }> => {
  const { newer, stranger, entryId, origin, instanceId, ranSince } = becomes(tx, at)
  const [row] = await tx<(MergedMachines & { last: string | null })[]>`
    with page as materialized (
      select s.ref, s.record_id, s.name, f.uuid, f.project, f.host, f.cpus, f.memory, e.id as entry_id, e.instance_id,
        array(select jsonb_array_elements_text(f.macs)) as macs,
        case when f.host in (${silentHosts(tx, at)}) then 'unknown' else f.power end as power
      from inventory_stage s
      cross join lateral jsonb_to_record(s.facts) as f(
        uuid text, project text, host text, power text, cpus int, memory bigint, macs jsonb)
      left join lateral (
        select id, instance_id from entry where target_id = ${at.siteId}::uuid and machine_ref = s.ref and state <> 'finished'
        order by id limit 1) e on true
      where ${staged(tx, at)} and s.action = 'seen' and s.ref > ${page.after}
      order by s.ref limit ${page.limit}
    ), before as materialized (
      select m.id, m.ref, m.name, m.uuid, m.project, m.host, m.power, m.cpus, m.memory, m.gone_at is not null as gone
      from page p join machine m on m.target_id = ${at.siteId}::uuid and m.ref = p.ref
    ), updated as (
      update machine m set name = p.name, uuid = p.uuid, project = p.project, cpus = p.cpus, memory = p.memory, macs = p.macs,
        host = case when ${newer} then m.host else p.host end,
        power = case when ${newer} then m.power else p.power end,
        saved_state = case when ${stranger} then null else m.saved_state end,
        stopped_at = case when ${ranSince} or ${stranger} then null else m.stopped_at end,
        run_policy = case when ${stranger} then 'manual' else m.run_policy end,
        origin = ${origin}, instance_id = ${instanceId},
        entry_id = ${entryId}, seen_at = greatest(m.seen_at, ${at.begunAt}), gone_at = null
      from page p
      where m.target_id = ${at.siteId}::uuid and m.ref = p.ref and (
        m.gone_at is not null
        or (m.name, m.uuid, m.project, m.cpus, m.memory, m.macs)
          is distinct from (p.name, p.uuid, p.project, p.cpus, p.memory, p.macs)
        or (m.entry_id, m.origin, m.instance_id) is distinct from (${entryId}, ${origin}, ${instanceId})
        or (not ${newer} and (m.host, m.power) is distinct from (p.host, p.power)))
      returning m.*
    ), inserted as (
      insert into machine (id, target_id, ref, name, uuid, project, host, power, cpus, memory, macs, origin, entry_id,
        instance_id, seen_at)
      select p.record_id, ${at.siteId}::uuid, p.ref, p.name, p.uuid, p.project, p.host, p.power, p.cpus, p.memory, p.macs,
        case when p.entry_id is null then 'adopted' else 'copy' end, p.entry_id, p.instance_id, ${at.begunAt}
      from page p where not exists (select from before b where b.ref = p.ref)
      on conflict (target_id, ref) do nothing
      returning *
    ), news as (
      select u.*, b.power as was, ${changes(tx)} as changes,
        case when b.gone then 'machine.returned' else 'machine.changed' end as type
      from updated u join before b on b.id = u.id
      union all
      select i.*, null, null, 'machine.appeared' from inserted i
    ), counted as (
      select * from news where type <> 'machine.changed' or changes <> '{}'::jsonb
    ), told as (
      insert into event (type, subject_type, subject_id, actor, from_state, to_state, detail)
      select type, 'machine', id::text, ${at.actor}, was, power, jsonb_strip_nulls(jsonb_build_object(
        'target', ${at.target}::text, 'name', name, 'host', host, 'changes', changes))
      from counted where not ${at.quiet}
    )
    select (select max(ref) from page) as last,
      (select count(*)::int from counted where type = 'machine.appeared') as appeared,
      (select count(*)::int from counted where type = 'machine.changed') as changed,
      (select count(*)::int from counted where type = 'machine.returned') as returned`
  const { last, ...counts } = row ?? { appeared: 0, changed: 0, returned: 0, last: null }
  return { ...counts, last: last ?? undefined }
}

/** The power of machines on hosts that do not answer becomes unknown. */
export const loseSight = async (tx: Tx, at: MachineMerge): Promise<number> => {
  const [row] = await tx<{ lost: number }[]>`
    with unseen as (
      select s.ref from inventory_stage s
      where ${staged(tx, at)} and s.action = 'problem' and s.more->'problem'->>'code' = 'platform-unreachable'
      union
      select m.ref from machine m where m.target_id = ${at.siteId}::uuid and m.host in (${silentHosts(tx, at)})
    ), lost as (
      update machine m set power = 'unknown', seen_at = greatest(m.seen_at, ${at.begunAt})
      from unseen u
      where m.target_id = ${at.siteId}::uuid and m.ref = u.ref and m.gone_at is null and m.power <> 'unknown'
        and m.seen_at <= ${at.begunAt}
      returning m.id, m.name, m.host
    ), told as (
      insert into event (type, subject_type, subject_id, actor, to_state, reason, detail)
      select 'machine.changed', 'machine', id::text, ${at.actor}, 'unknown', ${hostIsSilent},
        jsonb_build_object('target', ${at.target}::text, 'name', name, 'host', host)
      from lost where not ${at.quiet}
    )
    select count(*)::int as lost from lost`
  return row?.lost ?? 0
}

/**
 * Machines missing from the reading are gone, except those recorded after its start. Their rows stay, in case they
 * come back.
 */
export const vanishMachines = async (tx: Tx, at: MachineMerge, full: boolean): Promise<number> => {
  const [row] = await tx<{ vanished: number }[]>`
    with vanished as (
      update machine i set gone_at = now()
      where i.target_id = ${at.siteId}::uuid and i.gone_at is null and i.seen_at <= ${at.begunAt}
        and ${isMissing(tx, at, full)}
      returning i.id, i.name, i.host, i.power
    ), told as (
      insert into event (type, subject_type, subject_id, actor, from_state, detail)
      select 'machine.vanished', 'machine', id::text, ${at.actor}, power,
        jsonb_build_object('target', ${at.target}::text, 'name', name, 'host', host)
      from vanished where not ${at.quiet}
    )
    select count(*)::int as vanished from vanished`
  return row?.vanished ?? 0
}

import type { Tx } from '../../client.ts'
import { isMissing } from './missing-instances.ts'
import type { StageOwner } from './stage-inventory.ts'

export interface MergeAt extends StageOwner {
  readonly siteId: string
  /** The site's revision if anything changes. */
  readonly revision: number
}

/** The columns that a decision gives an instance, besides its facts. */
const columns = `uuid text, location text, os_type text, distribution text, distribution_version text, tracking jsonb,
  pending jsonb, ignored text, ignored_detail text, notes jsonb`

/**
 * Two readings that would take over one record: the one with the record's own id does, the other is new. In two steps,
 * because this is rare.
 */
export const splitSharedRecords = async (tx: Tx, at: MergeAt): Promise<void> => {
  const shared = await tx<{ id: string }[]>`
    select record_id as id from inventory_stage
    where job_id = ${at.jobId}::uuid and epoch = ${at.epoch}::bigint and kind = 'instance' and record_id is not null
    group by record_id having count(*) > 1`
  if (shared.length === 0) return
  const ids = shared.map(({ id }) => id)
  await tx`
    with claim as (
      select s.ref, row_number() over (partition by s.record_id order by (i.ref = s.ref) desc, s.ref) as turn
      from inventory_stage s join instance i on i.id = s.record_id
      where s.job_id = ${at.jobId}::uuid and s.epoch = ${at.epoch}::bigint and s.kind = 'instance'
        and s.record_id = any(${ids}::uuid[])
    )
    update inventory_stage s set action = 'insert', record_id = gen_random_uuid(), base = null
    from claim where claim.turn > 1 and s.ref = claim.ref and s.facts is not null
      and s.job_id = ${at.jobId}::uuid and s.epoch = ${at.epoch}::bigint and s.kind = 'instance'`
}

/** Staged decisions about records that have changed since: they have to be repeated. */
export const findOvertaken = async (tx: Tx, at: MergeAt): Promise<string[]> => {
  const rows = await tx<{ ref: string }[]>`
    select s.ref from inventory_stage s left join instance i on i.id = s.record_id
    where s.job_id = ${at.jobId}::uuid and s.epoch = ${at.epoch}::bigint and s.kind = 'instance'
      and s.base is not null and (i.id is null or (
        i.xmin::text <> s.base and (s.action <> 'seen' or i.hash <> s.hash or i.gone_at is not null)))`
  return rows.map((row) => row.ref)
}

/**
 * New machines whose UUID belongs to a live record of the site under an id that this reading shows to be gone: they
 * were registered again. In a full reading a missing id is gone, in a delta only one that the platform reports as
 * gone.
 */
export const findRegisteredAgain = async (
  tx: Tx,
  at: MergeAt,
  full: boolean,
): Promise<{ readonly ref: string; readonly was: string }[]> => tx<{ ref: string; was: string }[]>`
    select s.ref, i.ref as was from inventory_stage s join instance i on i.uuid = s.more->>'uuid'
    where s.job_id = ${at.jobId}::uuid and s.epoch = ${at.epoch}::bigint and s.kind = 'instance'
      and s.action = 'insert' and s.more->>'uuid' <> '' and i.site_id = ${at.siteId}::uuid and i.gone_at is null
      and i.ref <> s.ref
      and case when ${full} then not exists (
            select from inventory_stage o where o.job_id = ${at.jobId}::uuid and o.epoch = ${at.epoch}::bigint
              and o.kind = 'instance' and o.ref = i.ref and o.action <> 'gone')
          else exists (
            select from inventory_stage o where o.job_id = ${at.jobId}::uuid and o.epoch = ${at.epoch}::bigint
              and o.kind = 'instance' and o.ref = i.ref and o.action = 'gone') end`

export interface StagedFacts {
  readonly ref: string
  readonly facts: unknown
}

/** The staged facts of these, where they are complete. */
export const loadStagedFacts = async (
  tx: Tx,
  at: MergeAt,
  refs: readonly string[],
): Promise<StagedFacts[]> => tx<StagedFacts[]>`
  select ref, facts from inventory_stage
  where job_id = ${at.jobId}::uuid and epoch = ${at.epoch}::bigint and kind = 'instance'
    and ref = any(${refs as string[]}::text[])`

export interface MergePage {
  readonly after: string
  readonly limit: number
}

type WrittenAction = 'update' | 'return' | 'pend' | 'settle'

/**
 * Applies a page of the decisions about known instances, in the order of their ids. Returns how often each action was
 * taken.
 */
export const updateInstances = async (
  tx: Tx,
  at: MergeAt,
  page: MergePage,
): Promise<{
  readonly counts: Partial<Record<WrittenAction, number>>
  readonly last: string | undefined
}> => {
  const rows = await tx<{ action: WrittenAction; count: number; last: string }[]>`
    with page as materialized (
      select s.* from inventory_stage s
      where s.job_id = ${at.jobId}::uuid and s.epoch = ${at.epoch}::bigint and s.kind = 'instance'
        and s.action in ('update', 'return', 'pend', 'settle') and s.ref > ${page.after}
      order by s.ref limit ${page.limit}
    ), written as (
      update instance i set ref = s.ref, name = s.name, uuid = m.uuid, location = m.location,
        facts = coalesce(s.facts, i.facts), hash = s.hash, os_type = m.os_type, distribution = m.distribution,
        distribution_version = m.distribution_version, tracking = m.tracking, pending = m.pending,
        pending_since = case when m.pending is not null then coalesce(i.pending_since, now()) end,
        ignored = case when m.ignored is null and i.ignored = 'duplicate-uuid' then i.ignored else m.ignored end,
        ignored_detail = case when m.ignored is null and i.ignored = 'duplicate-uuid' then i.ignored_detail
                              else m.ignored_detail end,
        problem = null, notes = m.notes, gone_at = null,
        revision = case when s.action in ('update', 'return') then ${at.revision}::bigint else i.revision end,
        changed_at = case when s.action in ('update', 'return') then now() else i.changed_at end
      from page s, jsonb_to_record(s.more) as m(${tx.unsafe(columns)})
      where i.id = s.record_id
    )
    select action, count(*)::int as count, max(ref) as last from page group by action`
  const last = rows.map((row) => row.last)
  return {
    counts: Object.fromEntries(rows.map((row) => [row.action, row.count])),
    last: rows.length === 0 ? undefined : await greatest(tx, last),
  }
}

/** By the database's collation, which differs from that of a program. */
const greatest = async (tx: Tx, refs: readonly string[]): Promise<string | undefined> => {
  if (refs.length === 1) return refs[0]
  const [row] = await tx<
    { last: string }[]
  >`select max(ref) as last from unnest(${refs as string[]}::text[]) as r(ref)`
  return row?.last
}

/**
 * Inserts a page of new instances, in the order of their ids. Returns the last id of the page, or undefined after the
 * last page.
 */
export const insertInstances = async (
  tx: Tx,
  at: MergeAt,
  page: MergePage,
): Promise<{ count: number; last: string | undefined }> => {
  const [row] = await tx<{ count: number; last: string | null }[]>`
    with page as (
      select s.* from inventory_stage s
      where s.job_id = ${at.jobId}::uuid and s.epoch = ${at.epoch}::bigint and s.kind = 'instance'
        and s.action = 'insert' and s.ref > ${page.after}
      order by s.ref limit ${page.limit}
    ), inserted as (
      insert into instance (id, site_id, ref, name, hash, revision, uuid, location, facts, os_type, distribution,
        distribution_version, tracking, pending, ignored, ignored_detail, notes, readiness, rules_version)
      select s.record_id, ${at.siteId}::uuid, s.ref, s.name, s.hash, ${at.revision}::bigint, m.uuid, m.location,
        s.facts, m.os_type, m.distribution, m.distribution_version, m.tracking, m.pending, m.ignored,
        m.ignored_detail, m.notes, coalesce(m.readiness, 'blocked'), coalesce(m.rules_version, '')
      from page s, jsonb_to_record(s.more) as m(${tx.unsafe(columns)}, readiness text, rules_version text)
    ), found as (
      insert into finding (instance_id, rule, severity, evidence, waived)
      select s.record_id, f.rule, f.severity, f.evidence, f.waived
      from page s, jsonb_to_recordset(s.more->'findings') as f(
        rule text, severity text, evidence jsonb, waived boolean)
    ), known as (
      insert into instance_identity (kind, value, instance_id)
      select i.kind, i.value, s.record_id
      from page s, jsonb_to_recordset(s.more->'identities') as i(kind text, value text)
      on conflict do nothing
    )
    select count(*)::int as count, max(ref) as last from page`
  return { count: row?.count ?? 0, last: row?.last ?? undefined }
}

export interface Vanished {
  readonly vanished: readonly string[]
  readonly pending: readonly string[]
  /** Other instances that shared an identity with one that vanished: they are judged again. */
  readonly shared: readonly string[]
}

/** Missing instances become tombstones; those held by a batch keep their record with a pending change. */
export const vanishInstances = async (tx: Tx, at: MergeAt, full: boolean): Promise<Vanished> => {
  const [row] = await tx<Vanished[]>`
    with missing as (
      select i.id, i.frozen_by from instance i
      where i.site_id = ${at.siteId}::uuid and i.gone_at is null and ${isMissing(tx, at, full)}
    ), vanished as (
      update instance i set gone_at = now(), changed_at = now(), revision = ${at.revision}::bigint, pending = null,
        pending_since = null, problem = null
      from missing m where i.id = m.id and m.frozen_by is null
      returning i.id, i.name
    ), kept as (
      update instance i set pending = '{"type": "gone"}', pending_since = coalesce(i.pending_since, now())
      from missing m where i.id = m.id and m.frozen_by is not null
        and i.pending is distinct from '{"type": "gone"}'::jsonb
      returning i.id
    ), forgotten as (
      delete from instance_identity d using vanished v where d.instance_id = v.id returning d.kind, d.value
    ), cleared as (
      delete from finding f using vanished v where f.instance_id = v.id
    )
    select array(select id from vanished) as vanished, array(select id from kept) as pending,
      array(
        select distinct o.instance_id from (select distinct kind, value from forgotten) f
        cross join lateral (
          select instance_id from instance_identity i where i.kind = f.kind and i.value = f.value limit 50) o
        where o.instance_id not in (select id from vanished)) as shared`
  return row ?? { vanished: [], pending: [], shared: [] }
}

/** Records problems of this reading, and the end of former ones. */
export const writeProblems = async (tx: Tx, at: MergeAt): Promise<void> => {
  await tx`
    update instance i set problem = s.more->'problem'
    from inventory_stage s
    where s.job_id = ${at.jobId}::uuid and s.epoch = ${at.epoch}::bigint and s.kind = 'instance'
      and s.action = 'problem' and i.site_id = ${at.siteId}::uuid and i.ref = s.ref and i.gone_at is null
      and i.problem is distinct from s.more->'problem'`
  await tx`
    update instance i set problem = null
    where i.site_id = ${at.siteId}::uuid and i.problem is not null and exists (
      select from inventory_stage s where s.job_id = ${at.jobId}::uuid and s.epoch = ${at.epoch}::bigint
        and s.kind = 'instance' and s.action = 'seen' and s.ref = i.ref)`
}

/** Ids whose reading failed and that have no record: only a reading of their own will ever report them. */
export const findUnread = async (tx: Tx, at: MergeAt): Promise<string[]> => {
  const rows = await tx<{ ref: string }[]>`
    select s.ref from inventory_stage s
    where s.job_id = ${at.jobId}::uuid and s.epoch = ${at.epoch}::bigint and s.kind = 'instance'
      and s.action = 'problem' and not exists (
        select from instance i where i.site_id = ${at.siteId}::uuid and i.ref = s.ref and i.gone_at is null)
    order by s.ref`
  return rows.map((row) => row.ref)
}

/** Known instances whose facts this merge has written, and new ones without a current judgement. */
export const findToReassess = async (tx: Tx, at: MergeAt, isCurrent: boolean): Promise<string[]> => {
  const rows = await tx<{ id: string }[]>`
    select record_id as id from inventory_stage
    where job_id = ${at.jobId}::uuid and epoch = ${at.epoch}::bigint and kind = 'instance'
      and (action in ('update', 'return') or (action = 'insert' and (not ${isCurrent} or more->'findings' is null)))
    order by record_id`
  return rows.map((row) => row.id)
}

/** How many owners of a value are read. The one that had it alone until now has the smallest id and is among them. */
const clashLook = 3

/** New instances that share an identity with another, and those they share it with. */
export const findClashing = async (tx: Tx, at: MergeAt): Promise<string[]> => {
  const rows = await tx<{ id: string }[]>`
    with clash as materialized (
      select s.record_id as mine, o.instance_id as other
      from inventory_stage s
      cross join jsonb_to_recordset(s.more->'identities') as v(kind text, value text)
      cross join lateral (
        select instance_id from instance_identity i where i.kind = v.kind and i.value = v.value
        order by instance_id limit ${clashLook}) o
      where s.job_id = ${at.jobId}::uuid and s.epoch = ${at.epoch}::bigint and s.kind = 'instance'
        and s.action = 'insert' and o.instance_id <> s.record_id
    )
    select mine as id from clash union select other from clash`
  return rows.map((row) => row.id)
}

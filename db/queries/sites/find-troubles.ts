import type { Queryable } from '../../client.ts'

export interface Trouble {
  readonly type: 'ignored' | 'problem' | 'notes'
  readonly name: string
  readonly ref: string
  readonly text: string
}

/** Recorded problems of live instances of a site: a delta reports as much as a full reading. */
export const findTroubles = async (
  db: Queryable,
  siteId: string,
  limit: number,
): Promise<{ readonly troubles: Trouble[]; readonly counts: Readonly<Record<string, number>> }> => {
  const rows = await db<(Trouble & { total: number })[]>`
    with trouble as (
      select 'ignored' as type, name, ref, coalesce(ignored_detail, ignored) as text from instance
      where site_id = ${siteId}::uuid and gone_at is null and ignored is not null
      union all
      select 'problem', name, ref, problem->>'message' from instance
      where site_id = ${siteId}::uuid and gone_at is null and problem is not null
      union all
      select 'notes', name, ref, notes->>0 from instance
      where site_id = ${siteId}::uuid and gone_at is null and notes <> '[]'::jsonb
    ), ranked as (
      select *, row_number() over (partition by type order by name, ref) as place,
        count(*) over (partition by type)::int as total
      from trouble
    )
    select type, name, ref, text, total from ranked where place <= ${limit} order by type, place`
  return { troubles: rows, counts: Object.fromEntries(rows.map((row) => [row.type, row.total])) }
}

/**
 * Instances that a delta has to read one by one: their last reading failed, so changes at that time are not known.
 * Includes machines of unknown power on a host that answers again.
 */
export const findRereads = async (db: Queryable, siteId: string): Promise<string[]> => {
  const rows = await db<{ ref: string }[]>`
    select ref from instance where site_id = ${siteId}::uuid and gone_at is null and problem is not null
    union
    select jsonb_array_elements_text(sync_result->'unread') from site
    where id = ${siteId}::uuid and jsonb_typeof(sync_result->'unread') = 'array'
    union
    (select ref from machine m where m.target_id = ${siteId}::uuid and m.gone_at is null and m.power = 'unknown'
      and not exists (select from host h where h.site_id = m.target_id and h.name = m.host and h.gone_at is null
        and h.facts->>'state' in ('not-responding', 'disconnected'))
      order by ref limit 200)
    order by ref`
  return rows.map((row) => row.ref)
}

export interface LivingCounts {
  readonly instances: number
  readonly ignored: number
  /** Only for a target. */
  readonly machines: number
}

export const countLiving = async (db: Queryable, siteId: string): Promise<LivingCounts> => {
  const [row] = await db<LivingCounts[]>`
    select
      (select count(*)::int from instance where site_id = ${siteId}::uuid and gone_at is null) as instances,
      (select count(*)::int from instance
       where site_id = ${siteId}::uuid and gone_at is null and ignored is not null) as ignored,
      (select count(*)::int from machine where target_id = ${siteId}::uuid and gone_at is null) as machines`
  return row ?? { instances: 0, ignored: 0, machines: 0 }
}

export interface StagedProblem {
  readonly kind: string
  readonly ref: string
  readonly name: string
  readonly message: string
}

/** Problems of this reading without a record that would show them. */
export const findStagedProblems = async (
  db: Queryable,
  at: { readonly jobId: string; readonly epoch: number; readonly siteId: string },
  limit: number,
): Promise<StagedProblem[]> => db<StagedProblem[]>`
  select kind, ref, name, more->'problem'->>'message' as message from inventory_stage s
  where job_id = ${at.jobId}::uuid and epoch = ${at.epoch}::bigint and action = 'problem'
    and not (kind = 'instance' and exists (
      select from instance i where i.site_id = ${at.siteId}::uuid and i.ref = s.ref and i.gone_at is null))
  order by kind, ref limit ${limit}`

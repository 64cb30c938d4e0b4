import type { Queryable, Tx } from '../../client.ts'
import type { InstanceRow } from '../../schema/inventory.ts'
import { isMigrated } from './is-migrated.ts'

/** An instance with the name and kind of its source. */
export interface InstanceLine extends Omit<InstanceRow, 'hash'> {
  readonly source: string
  readonly sourceKind: string
  /** A certified copy has replaced it, whatever became of the entry. */
  readonly migrated: boolean
  /** Its findings that count. */
  readonly findings: readonly string[]
}

export interface InstanceFilter {
  readonly source?: string | undefined
  readonly readiness?: string | undefined
  /** Undefined: both. */
  readonly ignored?: boolean | undefined
  readonly gone?: boolean | undefined
  /** A certified copy has replaced it. */
  readonly migrated?: boolean | undefined
  /** Connected to this network: its source and the platform's id. */
  readonly network?: { readonly siteId: string; readonly ref: string } | undefined
  /** Breaks this rule, waived or not. */
  readonly rule?: string | undefined
}

const brokenRules = (db: Queryable) => db`
  array(select f.rule from finding f where f.instance_id = i.id and not f.waived order by f.rule)`

const columns = (db: Queryable) => db`
  i.id, i.site_id, s.name as source, s.kind as source_kind, i.ref, i.name, i.revision, i.first_seen_at, i.changed_at,
  i.gone_at, i.uuid, i.location, i.facts, i.os_type, i.distribution, i.distribution_version, i.overrides, i.version,
  i.tracking, i.frozen_by, i.pending, i.pending_since, i.ignored, i.ignored_detail, i.problem, i.notes, i.readiness,
  i.rules_version, ${isMigrated(db)} as migrated, ${brokenRules(db)} as findings`

/** The condition on `i` (instance) and `s` (site). */
export const instanceFits = (db: Queryable, filter: InstanceFilter) => db`
  ${filter.source === undefined ? db`true` : db`s.name = ${filter.source}`}
  and ${filter.readiness === undefined ? db`true` : db`i.readiness = ${filter.readiness}`}
  and ${filter.ignored === undefined ? db`true` : filter.ignored ? db`i.ignored is not null` : db`i.ignored is null`}
  and ${filter.gone === undefined ? db`true` : filter.gone ? db`i.gone_at is not null` : db`i.gone_at is null`}
  and ${filter.migrated === undefined ? db`true` : filter.migrated ? isMigrated(db) : db`not ${isMigrated(db)}`}
  and ${filter.network === undefined ? db`true` : wiredTo(db, filter.network)}
  and ${
    filter.rule === undefined
      ? db`true`
      : db`exists (select 1 from finding f where f.rule = ${filter.rule} and f.instance_id = i.id)`
  }`

const wiredTo = (db: Queryable, network: { siteId: string; ref: string }) => db`
  i.site_id = ${network.siteId}::uuid
  and i.facts @> ${JSON.stringify({ nics: [{ network_ref: network.ref }] })}::text::jsonb`

/** In the order of first sight, which never changes, so that pages stay stable during a sync. */
export const listInstances = async (
  db: Queryable,
  filter: InstanceFilter,
  page: { after: string | undefined; limit: number },
): Promise<InstanceLine[]> => db<InstanceLine[]>`
  select ${columns(db)} from instance i join site s on s.id = i.site_id
  where ${instanceFits(db, filter)} and ${page.after === undefined ? db`true` : db`i.id > ${page.after}::uuid`}
  order by i.id limit ${page.limit}`

/** The parts of an instance that a filter needs. */
export type JudgedLine = Pick<
  InstanceLine,
  'id' | 'source' | 'sourceKind' | 'facts' | 'overrides' | 'readiness' | 'findings'
>

/** Parts that a filter does not read, so that the database need not send them. */
export interface LeftOut {
  readonly facts: readonly string[]
  readonly findings: boolean
}

/** In the order of the list, with only what a filter reads: reading a fleet is mostly reading facts. */
export const listForFilter = async (
  db: Queryable,
  filter: InstanceFilter,
  page: { after: string | undefined; limit: number; without: LeftOut },
): Promise<JudgedLine[]> => db<JudgedLine[]>`
  select i.id, s.name as source, s.kind as source_kind, i.facts - ${page.without.facts as string[]}::text[] as facts,
    i.overrides, i.readiness, ${page.without.findings ? db`'{}'::text[]` : brokenRules(db)} as findings
  from instance i join site s on s.id = i.site_id
  where ${instanceFits(db, filter)} and ${page.after === undefined ? db`true` : db`i.id > ${page.after}::uuid`}
  order by i.id limit ${page.limit}`

/** These instances, in list order. */
export const findInstances = async (db: Queryable, ids: readonly string[]): Promise<InstanceLine[]> => db<
  InstanceLine[]
>`
  select ${columns(db)} from instance i join site s on s.id = i.site_id
  where i.id = any(${ids as string[]}::uuid[]) order by i.id`

export const countInstances = async (db: Queryable, filter: InstanceFilter): Promise<number> => {
  const [row] = await db<{ count: number }[]>`
    select count(*)::int as count from instance i join site s on s.id = i.site_id where ${instanceFits(db, filter)}`
  return row?.count ?? 0
}

export const findInstance = async (db: Queryable, id: string): Promise<InstanceLine | undefined> => {
  const [row] = await db<InstanceLine[]>`
    select ${columns(db)} from instance i join site s on s.id = i.site_id where i.id = ${id}::uuid`
  return row
}

/** The instance, locked until the transaction ends. */
export const lockInstance = async (tx: Tx, id: string): Promise<InstanceLine | undefined> => {
  const [row] = await tx<InstanceLine[]>`
    select ${columns(tx)} from instance i join site s on s.id = i.site_id where i.id = ${id}::uuid
    for no key update of i`
  return row
}

export const writeInstanceOverrides = async (
  tx: Tx,
  id: string,
  overrides: Readonly<Record<string, unknown>>,
): Promise<void> => {
  await tx`
    update instance set overrides = ${JSON.stringify(overrides)}::text::jsonb, version = version + 1
    where id = ${id}::uuid`
}

/** An unfinished job for one instance, so that a repeated request does not send another. */
export const findLiveInstanceJob = async (
  db: Queryable,
  asked: {
    readonly instance: string
    readonly kinds: readonly string[]
    /** Only jobs that were requested before this one. */
    readonly before?: string
  },
): Promise<{ id: string; kind: string; state: string; payload: Record<string, unknown> } | undefined> => {
  const before = asked.before === undefined ? db`` : db`and j.id < ${asked.before}::uuid`
  const [row] = await db<{ id: string; kind: string; state: string; payload: Record<string, unknown> }[]>`
    select j.id, j.kind, j.state, j.payload
    from job_search s join job j on j.id = s.job_id
    where s.subject_type = 'instance' and s.subject_id = ${asked.instance}
      and s.kind = any(${asked.kinds as string[]}::text[]) and j.finished_at is null ${before}
    order by j.id limit 1`
  return row
}

import type { SiteRole } from '../../../src/domain/inventory/site-settings.ts'
import type { Queryable, Tx } from '../../client.ts'
import type { SiteRow } from '../../schema/inventory.ts'
import { type ReadinessCounts, readinessColumns } from '../instances/assessment.ts'
import { isMigrated } from '../instances/is-migrated.ts'

/** A source or target without its sealed values. */
export type SiteLine = Omit<SiteRow, 'secret' | 'cursor' | 'syncFailures'> & {
  readonly hasPassword: boolean
  /** A sync is running, or waits for its next try. */
  readonly syncing: boolean
}

const columns = (db: Queryable) => db`
  id, role, name, kind, endpoint, username, secret is not null as has_password, ca, fingerprint, seen_certificate,
  settings, connectivity, connectivity_error, connectivity_since, checked_at, next_check_at, identity, capabilities,
  revision, sync_job_id, synced_at, full_synced_at, next_sync_at, sync_error, sync_result, version, created_by,
  created_at, updated_at,
  exists (select 1 from job j where j.id = sync_job_id and j.finished_at is null) as syncing`

interface SiteFilter {
  readonly role: SiteRole
  readonly kind?: string | undefined
  readonly connectivity?: string | undefined
}

/** Sites of one role by name. */
export const listSites = async (
  db: Queryable,
  filter: SiteFilter,
  page: { after: string | undefined; limit: number },
): Promise<SiteLine[]> => db<SiteLine[]>`
  select ${columns(db)} from site
  where role = ${filter.role}
    and ${filter.kind === undefined ? db`true` : db`kind = ${filter.kind}`}
    and ${filter.connectivity === undefined ? db`true` : db`connectivity = ${filter.connectivity}`}
    and ${page.after === undefined ? db`true` : db`name > ${page.after}`}
  order by name limit ${page.limit}`

export const findSiteByName = async (
  db: Queryable,
  role: SiteRole,
  name: string,
): Promise<SiteLine | undefined> => {
  const [row] = await db<SiteLine[]>`select ${columns(db)} from site where role = ${role} and name = ${name}`
  return row
}

/** The site, locked until the transaction ends. */
export const lockSiteByName = async (tx: Tx, role: SiteRole, name: string): Promise<SiteLine | undefined> => {
  const [row] = await tx<SiteLine[]>`
    select ${columns(tx)} from site where role = ${role} and name = ${name} for no key update`
  return row
}

/** The same for its removal: `holdSites` is serialised with it. */
export const lockSiteForRemoval = async (
  tx: Tx,
  role: SiteRole,
  name: string,
): Promise<SiteLine | undefined> => {
  const [row] = await tx<SiteLine[]>`
    select ${columns(tx)} from site where role = ${role} and name = ${name} for update`
  return row
}

export interface NewSite {
  readonly id: string
  readonly role: SiteRole
  readonly name: string
  readonly kind: string
  readonly endpoint: string
  readonly username: string
  readonly secret: Buffer | null
  readonly ca: string
  readonly fingerprint: string
  readonly settings: Readonly<Record<string, unknown>>
  readonly createdBy: string
}

/** The first check is enqueued together with the site, so the next one is due an interval later. */
export const insertSite = async (tx: Tx, site: NewSite, nextCheckSeconds: number): Promise<SiteLine> => {
  const [row] = await tx<SiteLine[]>`
    insert into site (id, role, name, kind, endpoint, username, secret, ca, fingerprint, settings, created_by,
      next_check_at)
    values (${site.id}::uuid, ${site.role}, ${site.name}, ${site.kind}, ${site.endpoint}, ${site.username},
      ${site.secret}, ${site.ca}, ${site.fingerprint}, ${JSON.stringify(site.settings)}::text::jsonb,
      ${site.createdBy}, now() + ${nextCheckSeconds} * interval '1 second')
    returning ${columns(tx)}`
  if (!row) throw new Error(`The ${site.role} ${site.name} was inserted but did not come back.`)
  return row
}

export interface SiteChange {
  readonly endpoint?: string | undefined
  readonly username?: string | undefined
  readonly secret?: Buffer | undefined
  readonly ca?: string | undefined
  readonly fingerprint?: string | undefined
  readonly settings?:
    | { readonly sync_interval_seconds: number; readonly check_interval_seconds: number }
    | undefined
  /** The known connection is void: another address, name, password or certificate. */
  readonly forgetConnection: boolean
}

/** Changes the given fields. The caller holds the row's lock. */
export const updateSite = async (tx: Tx, id: string, change: SiteChange): Promise<SiteLine> => {
  const forget = change.forgetConnection
  const [row] = await tx<SiteLine[]>`
    update site set version = version + 1, updated_at = now(),
      endpoint = coalesce(${change.endpoint ?? null}, endpoint),
      username = coalesce(${change.username ?? null}, username),
      secret = coalesce(${change.secret ?? null}::bytea, secret),
      ca = coalesce(${change.ca ?? null}, ca),
      fingerprint = coalesce(${change.fingerprint ?? null}, fingerprint),
      settings = coalesce(${change.settings ? JSON.stringify(change.settings) : null}::text::jsonb, settings),
      connectivity = case when ${forget} then 'unknown' else connectivity end,
      connectivity_since = case when ${forget} and connectivity <> 'unknown' then now() else connectivity_since end,
      connectivity_error = case when ${forget} then null else connectivity_error end,
      seen_certificate = case when ${forget} then null else seen_certificate end,
      -- A shorter interval counts from now; with 0 nothing is due, whatever stands here.
      next_sync_at = case when ${change.settings?.sync_interval_seconds ?? 0}::int > 0
        then least(next_sync_at, now() + ${change.settings?.sync_interval_seconds ?? 0}::int * interval '1 second')
        else next_sync_at end,
      next_check_at = case when ${change.settings?.check_interval_seconds ?? 0}::int > 0
        then least(next_check_at, now() + ${change.settings?.check_interval_seconds ?? 0}::int * interval '1 second')
        else next_check_at end,
      -- A cursor may hold a session of the connection before.
      cursor = case when ${forget} then null else cursor end
    where id = ${id}::uuid returning ${columns(tx)}`
  if (!row) throw new Error(`Site ${id} vanished while its row was locked.`)
  return row
}

/**
 * Keeps the conductor from starting anything for a site that is being removed; for a day, in case the removal is not
 * continued.
 */
export const postponeSite = async (tx: Tx, id: string): Promise<void> => {
  await tx`update site set next_sync_at = now() + interval '1 day', next_check_at = now() + interval '1 day'
    where id = ${id}::uuid`
}

export const deleteSiteRow = async (tx: Tx, id: string): Promise<void> => {
  await tx`delete from site where id = ${id}::uuid`
}

export interface SiteCounts extends ReadinessCounts {
  readonly ignored: number
  readonly frozen: number
  readonly networks: number
  readonly hosts: number
  readonly storage: number
  readonly projects: number
}

/** What a site has now; ignored and migrated instances are counted only as such. */
export const countSite = async (db: Queryable, siteId: string): Promise<SiteCounts> => {
  const living = (table: string, such = db`true`) =>
    db`(select count(*)::int from ${db(table)} t where t.site_id = ${siteId}::uuid and t.gone_at is null and ${such})`
  const [row] = await db<SiteCounts[]>`
    select ${readinessColumns(db)}, ${living('instance', db`t.ignored is not null`)} as ignored,
      ${living('instance', db`t.frozen_by is not null`)} as frozen,
      ${living('network')} as networks, ${living('host')} as hosts, ${living('storage')} as storage,
      ${living('project')} as projects
    from (
      select i.readiness, ${isMigrated(db)} as migrated from instance i
      where i.site_id = ${siteId}::uuid and i.gone_at is null and i.ignored is null offset 0) i`
  if (!row) throw new Error('A count gave no row.')
  return row
}

export interface SiteJob {
  readonly id: string
  readonly kind: string
  readonly state: string
  readonly payload: Readonly<Record<string, unknown>>
}

/** Unfinished jobs of a site itself. */
export const findLiveSiteJobs = async (
  db: Queryable,
  site: { role: SiteRole; name: string },
): Promise<SiteJob[]> => db<SiteJob[]>`
  select job.id, job.kind, job.state, job.payload from job_search s join job on job.id = s.job_id
  where s.subject_type = ${site.role} and s.subject_id = ${site.name} and job.finished_at is null
  order by job.id`

/** Unfinished jobs of instances of a site: each state named in the condition of the index that serves it. */
export const findLiveInstanceJobs = async (db: Queryable, siteId: string): Promise<SiteJob[]> => db<
  SiteJob[]
>`
  with live as (
    select id, kind, state, payload, subject_id from job
    where state = 'running' and lease_until is not null and subject_type = 'instance'
    union all
    select id, kind, state, payload, subject_id from job
    where state = 'ready' and bell in ('due', 'held', 'rung') and subject_type = 'instance'
    union all
    select id, kind, state, payload, subject_id from job where state = 'waiting' and subject_type = 'instance'
  )
  select l.id, l.kind, l.state, l.payload from live l
  where exists (select from instance i where i.site_id = ${siteId}::uuid and i.id::text = l.subject_id)
  order by l.id limit 100`

/** Instances of a site that a running batch holds: how many, and some of the batches. */
export const findFrozen = async (db: Queryable, siteId: string): Promise<{ count: number; by: string[] }> => {
  const [row] = await db<{ count: number; by: string[] | null }[]>`
    select count(*)::int as count, (array_agg(distinct frozen_by))[1:5] as by from instance
    where site_id = ${siteId}::uuid and frozen_by is not null`
  return { count: row?.count ?? 0, by: row?.by ?? [] }
}

import type { Forgotten } from '../../../src/domain/inventory/site-removal.ts'
import type { Queryable, Tx } from '../../client.ts'
import { replaceIdentities } from '../sync/replace-identities.ts'

/** What people lose when a site is removed. */
export const countForgotten = async (db: Queryable, siteId: string): Promise<Forgotten> => {
  const [row] = await db<Forgotten[]>`
    select
      (select count(*)::int from instance where site_id = ${siteId}::uuid and gone_at is null)
        + (select count(*)::int from machine where target_id = ${siteId}::uuid and gone_at is null) as machines,
      (select count(*)::int from instance where site_id = ${siteId}::uuid and overrides <> '{}') as overrides,
      (select count(*)::int from network where site_id = ${siteId}::uuid and overrides <> '{}') as mappings,
      (select count(*)::int from waiver w join instance i on i.id = w.instance_id
        where i.site_id = ${siteId}::uuid) as waivers`
  if (!row) throw new Error('A count gave no row.')
  return row
}

/**
 * Removes up to `limit` instances of a site with everything that belongs to them, then its machines, networks, hosts,
 * storage and projects; returns how many. 0: nothing is left. The caller makes sure that no operation on these
 * machines is open.
 */
export const deleteSiteInventory = async (tx: Tx, siteId: string, limit: number): Promise<number> => {
  const ids = (
    await tx<{ id: string }[]>`
      delete from instance where id in (
        select id from instance where site_id = ${siteId}::uuid limit ${limit} for update)
      returning id`
  ).map((row) => row.id)
  if (ids.length > 0) {
    await tx`delete from finding where instance_id = any(${ids}::uuid[])`
    await releaseTwins(tx, ids)
    await tx`delete from waiver where instance_id = any(${ids}::uuid[])`
    await deleteWarningsAbout(tx, 'instance', ids)
    return ids.length
  }
  let removed = await deleteMachines(tx, siteId, limit)
  for (const table of ['network', 'host', 'storage', 'project'] as const) {
    const gone = await tx`
      delete from ${tx(table)} where id in (
        select id from ${tx(table)} where site_id = ${siteId}::uuid limit ${limit})`
    removed += gone.count
  }
  return removed
}

/** Locks the machines that are removed next: a later request for one of them waits, and finds it gone. */
export const holdMachines = async (tx: Tx, siteId: string, limit: number): Promise<void> => {
  await tx`select from machine where target_id = ${siteId}::uuid order by id limit ${limit} for update`
}

/** With all their operations. */
const deleteMachines = async (tx: Tx, siteId: string, limit: number): Promise<number> => {
  const ids = (
    await tx<{ id: string }[]>`
      delete from machine where id in (
        select id from machine where target_id = ${siteId}::uuid order by id limit ${limit} for update)
      returning id`
  ).map((row) => row.id)
  await tx`delete from operation where machine_id = any(${ids}::uuid[])`
  await deleteWarningsAbout(tx, 'machine', ids)
  return ids.length
}

/** Instances elsewhere that clashed with these are judged again by the conductor. */
const releaseTwins = async (tx: Tx, ids: readonly string[]): Promise<void> => {
  const twins = await replaceIdentities(tx, ids, [])
  await tx`
    update instance set rules_version = '' where id = any(${twins}::uuid[]) and rules_version <> ''`
}

/** Sources that ignored a machine because another source had it first sync again soon: it may count now. */
export const wakeTwinSources = async (tx: Tx): Promise<void> => {
  await tx`
    update site s set next_sync_at = least(next_sync_at, now())
    where role = 'source' and exists (
      select from instance i where i.site_id = s.id and i.ignored = 'duplicate-uuid' and i.gone_at is null)`
}

const deleteWarningsAbout = async (
  tx: Tx,
  type: 'instance' | 'machine',
  ids: readonly string[],
): Promise<void> => {
  await tx`delete from warning where entity_type = ${type} and entity_id = any(${ids as string[]}::text[])`
}

/** What was said about the site itself. */
export const deleteSiteWarnings = async (
  tx: Tx,
  site: { role: string; id: string; name: string },
): Promise<void> => {
  await tx`
    delete from warning where entity_type = ${site.role} and entity_id in (${site.id}, ${site.name})`
}

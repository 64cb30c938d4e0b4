import type { Tx } from '../client.ts'

/**
 * Removes up to `limit` instances of a site with everything that hangs on them, then its networks, hosts, storage
 * and projects; answers how many things went. 0: nothing is left.
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
    await tx`delete from instance_identity where instance_id = any(${ids}::uuid[])`
    await tx`delete from waiver where instance_id = any(${ids}::uuid[])`
    await tx`delete from warning where entity_type = 'instance' and entity_id = any(${ids}::text[])`
    return ids.length
  }
  let removed = 0
  for (const table of ['network', 'host', 'storage', 'project'] as const) {
    const gone = await tx`
      delete from ${tx(table)} where id in (
        select id from ${tx(table)} where site_id = ${siteId}::uuid limit ${limit})`
    removed += gone.count
  }
  return removed
}

/** What was said about the site itself. */
export const deleteSiteWarnings = async (
  tx: Tx,
  site: { role: string; id: string; name: string },
): Promise<void> => {
  await tx`
    delete from warning where entity_type = ${site.role} and entity_id in (${site.id}, ${site.name})`
}

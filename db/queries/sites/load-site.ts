import type { Queryable, Tx } from '../../client.ts'
import type { SiteRow } from '../../schema/inventory.ts'

/** A complete site with its sealed values: only for workers. */
export const loadSite = async (
  db: Queryable,
  site: { readonly role: string; readonly name: string },
): Promise<SiteRow | undefined> => {
  const [row] = await db<SiteRow[]>`select * from site where role = ${site.role} and name = ${site.name}`
  return row
}

export const loadSiteById = async (db: Queryable, id: string): Promise<SiteRow | undefined> => {
  const [row] = await db<SiteRow[]>`select * from site where id = ${id}::uuid`
  return row
}

/** Complete and locked: every change of a site's inventory starts with this. */
export const lockSite = async (tx: Tx, id: string): Promise<SiteRow | undefined> => {
  const [row] = await tx<SiteRow[]>`select * from site where id = ${id}::uuid for no key update`
  return row
}

/** The name of the site: enough for processes that may not see sealed values. */
export const findSiteName = async (db: Queryable, id: string): Promise<string | undefined> => {
  const [row] = await db<{ name: string }[]>`select name from site where id = ${id}::uuid`
  return row?.name
}

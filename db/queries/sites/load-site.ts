import type { Queryable, Tx } from '../../client.ts'
import type { SiteRow } from '../../schema/inventory.ts'

/** A site whole, with what is sealed: for workers alone. */
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

/** Whole and locked: whoever changes what a site has starts with this. */
export const lockSite = async (tx: Tx, id: string): Promise<SiteRow | undefined> => {
  const [row] = await tx<SiteRow[]>`select * from site where id = ${id}::uuid for no key update`
  return row
}

/** What the site is called: all that a process that may not see what is sealed needs of it. */
export const findSiteName = async (db: Queryable, id: string): Promise<string | undefined> => {
  const [row] = await db<{ name: string }[]>`select name from site where id = ${id}::uuid`
  return row?.name
}

import type postgres from 'postgres'
import { groupOf, type RunningRole, runningRoles } from '../../privileges.ts'

/** SQLSTATEs of "somebody else made it just now": roles belong to the whole cluster, and no lock reaches that far. */
const madeMeanwhile = new Set(['42710', '23505'])

/** Those of our groups that this cluster has. */
export const findGroups = async (sql: postgres.Sql): Promise<RunningRole[]> => {
  const rows = await sql<{ name: string }[]>`
    select rolname as name from pg_catalog.pg_roles where rolname = any(${runningRoles.map(groupOf)}::text[])`
  const names = new Set(rows.map((row) => row.name))
  return runningRoles.filter((role) => names.has(groupOf(role)))
}

/**
 * Makes the groups that are missing when we may, and gives those that are there in the end. Databases of one cluster
 * are migrated at the same time, so each may find that another one was first.
 */
export const ensureGroups = async (sql: postgres.Sql): Promise<RunningRole[]> => {
  const there = await findGroups(sql)
  if (there.length === runningRoles.length) return there
  const [me] = await sql<{ may: boolean }[]>`
    select rolsuper or rolcreaterole as may from pg_catalog.pg_roles where rolname = current_user`
  if (!me?.may) return there
  for (const role of runningRoles) {
    if (there.includes(role)) continue
    await sql`create role ${sql(groupOf(role))} nologin`.catch((error: { code?: string }) => {
      if (!madeMeanwhile.has(error.code ?? '')) throw error
    })
  }
  return findGroups(sql)
}

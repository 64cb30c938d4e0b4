import type postgres from 'postgres'
import { groupOf, type RunningRole, runningRoles } from '../../privileges.ts'

/** SQLSTATEs of a concurrent creation: roles belong to the whole cluster, and no lock reaches that far. */
const madeMeanwhile = new Set(['42710', '23505'])

/** Our role groups that exist in this cluster. */
export const findGroups = async (sql: postgres.Sql): Promise<RunningRole[]> => {
  const rows = await sql<{ name: string }[]>`
    select rolname as name from pg_catalog.pg_roles where rolname = any(${runningRoles.map(groupOf)}::text[])`
  const names = new Set(rows.map((row) => row.name))
  return runningRoles.filter((role) => names.has(groupOf(role)))
}

/**
 * Makes missing groups where permitted, and returns those that exist in the end. Databases of one cluster are migrated
 * at the same time, so another migration may be first.
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

import { bell, groupOf, type RunningRole, runningRoles } from '../../privileges.ts'

/** A connection of the bell's own driver. */
interface BellClient {
  query<Row extends object>(text: string, values?: unknown[]): Promise<{ rows: Row[] }>
}

/** Whether this login may create and upgrade the bell's store: the owner may, a running role may not. */
export const makesBellStore = async (client: BellClient): Promise<boolean> => {
  const { rows } = await client.query<{ may: boolean }>(
    `select pg_catalog.has_database_privilege(current_database(), 'create') and coalesce(
       (select pg_catalog.pg_has_role(nspowner, 'usage') from pg_catalog.pg_namespace where nspname = $1), true) as may`,
    [bell.schema],
  )
  return rows[0]?.may === true
}

/** Our role groups that exist in this cluster. */
export const bellGroups = async (client: BellClient): Promise<RunningRole[]> => {
  const { rows } = await client.query<{ name: string }>(
    'select rolname as name from pg_catalog.pg_roles where rolname = any($1::text[])',
    [runningRoles.map(groupOf)],
  )
  return runningRoles.filter((role) => rows.some(({ name }) => name === groupOf(role)))
}

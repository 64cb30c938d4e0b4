import type postgres from 'postgres'

/** The lab may make tables in a schema of its own, but no schema: `migrate` makes it. */
export const makeLabSchema = async (sql: postgres.Sql): Promise<void> => {
  const [there] = await sql`select from pg_catalog.pg_namespace where nspname = 'lab'`
  if (!there) await sql`create schema if not exists lab`
}

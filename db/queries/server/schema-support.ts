import type { Queryable } from '../../client.ts'

/**
 * The minimum number of migrations that a build must know to work here; undefined: the schema is older than this rule.
 */
export const readMigrationsMin = async (db: Queryable): Promise<number | undefined> => {
  const [table] = await db<{ there: boolean }[]>`
    select to_regclass('public.schema_support') is not null as there`
  if (!table?.there) return undefined
  const [row] = await db<{ min: number }[]>`select migrations_min as min from public.schema_support`
  return row?.min
}

/** Whether the database has migrations that are none of these. */
export const hasOtherMigrations = async (db: Queryable, known: readonly number[]): Promise<boolean> => {
  const [table] = await db<{ there: boolean }[]>`
    select to_regclass('drizzle.__drizzle_migrations') is not null as there`
  if (!table?.there) return false
  const rows = await db`
    select from drizzle.__drizzle_migrations
    where created_at::text <> all(string_to_array(${known.join(',')}, ',')) limit 1`
  return rows.length > 0
}

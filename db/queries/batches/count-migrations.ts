import type { Queryable } from '../../client.ts'

/** The number of migrations applied to the database; 0: it was never migrated. */
export const countMigrations = async (db: Queryable): Promise<number> => {
  const [table] = await db<{ there: boolean }[]>`
    select to_regclass('drizzle.__drizzle_migrations') is not null as there`
  if (!table?.there) return 0
  const [row] = await db<{ done: number }[]>`select count(*)::int as done from drizzle.__drizzle_migrations`
  return row?.done ?? 0
}

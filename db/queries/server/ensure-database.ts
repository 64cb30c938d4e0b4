import type { Queryable } from '../../client.ts'

/** Creates the database when it is missing. Of two concurrent calls the second finds it. */
export const ensureDatabase = async (sql: Queryable, name: string): Promise<void> => {
  const [found] = await sql`select 1 from pg_database where datname = ${name}`
  if (found) return
  await sql`create database ${sql(name)}`.catch((error: { code?: string }) => {
    if (error.code !== '42P04' && error.code !== '23505') throw error
  })
}

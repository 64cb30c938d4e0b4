import type { Queryable } from '../../client.ts'

/** Throws when Postgres does not answer. */
export const ping = async (db: Queryable): Promise<void> => {
  await db`select 1`
}

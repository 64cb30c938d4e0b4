import type { Queryable } from '../../client.ts'

/** What the database says the time is; within a transaction, when that began. */
export const readClock = async (db: Queryable): Promise<Date> => {
  const [row] = await db<{ now: Date }[]>`select now() as now`
  if (!row) throw new Error('The database gave no time.')
  return row.now
}

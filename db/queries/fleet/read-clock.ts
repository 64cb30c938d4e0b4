import type { Queryable } from '../../client.ts'

/** The database's time; within a transaction, its start. */
export const readClock = async (db: Queryable): Promise<Date> => {
  const [row] = await db<{ now: Date }[]>`select now() as now`
  if (!row) throw new Error('The database gave no time.')
  return row.now
}

import type { Queryable } from '../../client.ts'

/** Whether a job has succeeded. */
export const hasSucceeded = async (db: Queryable, jobId: string): Promise<boolean> => {
  const rows = await db`select from job where id = ${jobId}::uuid and state = 'succeeded'`
  return rows.length > 0
}

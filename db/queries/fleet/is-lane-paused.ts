import type { Queryable } from '../../client.ts'

/** Whether a lane was paused since its work was claimed. */
export const isLanePaused = async (db: Queryable, lane: string): Promise<boolean> => {
  const rows = await db`select 1 from pause where scope = 'lane' and name = ${lane}`
  return rows.length > 0
}

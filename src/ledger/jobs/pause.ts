import type { Db } from '../../../db/client.ts'
import { deletePause, insertPause, type PauseKey } from '../../../db/queries/fleet/pauses.ts'
import { nudge } from './nudge.ts'

/** Stops new claims of a kind or a lane; running jobs go on. Returns false when it was paused already. */
export const pauseWork = async (db: Db, pause: PauseKey & { by: string; reason: string }): Promise<boolean> =>
  (await db.begin((tx) => insertPause(tx, pause))) as boolean

/** Resumes a kind or a lane. Returns false when it was not paused. */
export const resumeWork = async (db: Db, resume: PauseKey & { by: string }): Promise<boolean> => {
  const resumed = (await db.begin((tx) => deletePause(tx, resume, resume.by))) as boolean
  nudge(db)
  return resumed
}

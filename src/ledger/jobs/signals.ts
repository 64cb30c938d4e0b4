import type { Db, Tx } from '../../../db/client.ts'
import { wakeBySignal } from '../../../db/queries/jobs/wake-by-signal.ts'
import { nudge } from './nudge.ts'

/** Ends every wait for `name`, in the caller's transaction: the wake-up commits together with its cause. */
export const sendSignal = (tx: Tx, name: string, by: string): Promise<number> => wakeBySignal(tx, name, by)

/** The same in a transaction of its own, with an immediate start of the woken jobs. */
export const sendSignalNow = async (db: Db, name: string, by: string): Promise<number> => {
  const woken = (await db.begin((tx) => wakeBySignal(tx, name, by))) as number
  nudge(db)
  return woken
}

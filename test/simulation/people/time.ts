import type { Db } from '../../../db/client.ts'
import { wakeTimedOutWaits } from '../../../db/queries/leases/wake-timed-out-waits.ts'
import { sweepDebts } from '../../../src/ledger/conductor/sweeps.ts'
import { readmitAll } from '../../../src/ledger/jobs/admission.ts'
import { failBatches, finishBatches } from '../../../src/migration/batch/end-batches.ts'
import { tickOperations } from '../../../src/operation/upkeep/ticks.ts'
import { lookNow } from '../../support/drive-entry.ts'
import { strictLog } from '../../support/strict-log.ts'
import { type WindowState, windowMinutes } from './steps.ts'

/** In one message: most of a story's time is its messages to the database. */
const allIsDue = `
  update job set run_after = now() - interval '1 second' where state = 'ready';
  update job set wait_until = now() - interval '1 second' where state = 'waiting';
  update effect set next_try_at = now() - interval '1 second' where state = 'debt';
  update machine set policy_next_at = now() - interval '1 second'`

/** Waits are over, debts are due, and the conductor has looked at everything. */
export const passTime = async (db: Db): Promise<void> => {
  await db.unsafe(allIsDue)
  await wakeTimedOutWaits(db, 500)
  await sweepDebts(db)
  await readmitAll(db)
  await tickOperations(db, strictLog)
  await lookNow({ db })
  await failBatches(db)
  await finishBatches(db)
}

/** Moments of the database's clock: windows are moved, as nobody can move the clock. */
export const setWindows = async (db: Db, becomes: WindowState): Promise<void> => {
  const [starts, ends] = windowMinutes[becomes]
  await db`
    update batch_window set starts_at = now() + ${starts}::float8 * interval '1 minute',
      ends_at = now() + ${ends}::float8 * interval '1 minute'`
  // It came nearer by hours, and copies are older by that.
  if (becomes === 'soon' || becomes === 'near')
    await db`update entry set synced_at = synced_at - interval '2 hours'`
  await db`update entry set look_at = now() - interval '1 second'`
}

import type { Db } from '../../db/client.ts'
import { sweepDebts } from '../../src/ledger/conductor/sweeps.ts'
import type { Undoer, UsePlatform } from '../../src/ledger/job.ts'
import { handleSettleDebt } from '../../workers/handlers/settle-debt.ts'
import { createEntryWorker } from './entry-world.ts'

/** Has every debt tried once, now. `undoers`: by the kind of effect. */
export const createDebtSettler = (
  db: Db,
  undoers: Readonly<Record<string, Undoer>>,
  usePlatform: UsePlatform,
): (() => Promise<void>) => {
  const settle = handleSettleDebt(new Map(Object.entries(undoers)))
  const worker = createEntryWorker(db, [settle], usePlatform)
  return async () => {
    await db`update effect set next_try_at = now() - interval '1 second' where state = 'debt'`
    await sweepDebts(db)
    const jobs = await db<{ id: string }[]>`
      select id from job where kind = 'settle-debt' and finished_at is null`
    for (const { id } of jobs) await worker.finish(id)
  }
}

import type { Db } from '../../../db/client.ts'
import {
  findOverBatches,
  finishBatchRows,
  lockBatch,
  moveBatch,
} from '../../../db/queries/batches/batch-rows.ts'
import { type FailedStart, findFailedStarts } from '../../../db/queries/waits/find-failed-starts.ts'
import { type BatchState, mayHappen } from '../../domain/migration/batch/batch-table.ts'

/** A batch whose start failed does not have all its entries: it moves to `error` and can be started again. */
export const failBatches = async (db: Db): Promise<void> => {
  for (const { batch } of await findFailedStarts(db)) await failBatch(db, batch)
}

const failBatch = (db: Db, name: string) =>
  db.begin(async (tx) => {
    const batch = await lockBatch(tx, name)
    // Somebody may have started it again since.
    const [failed] = await findFailedStarts(tx, name)
    if (!batch || !failed || !mayHappen(batch.state as BatchState, 'fail')) return
    await moveBatch(tx, { batch, event: 'fail', message: whyFailed(failed), by: 'conductor' })
  })

const whyFailed = ({ state, error }: FailedStart): string =>
  state === 'canceled'
    ? 'Its start was cancelled before all entries were made. Start it again, or reset it.'
    : `Its entries could not be made: ${error?.message ?? 'the start failed.'} Start it again, or reset it.`

/** Finishes running batches in which every entry has finished or was cancelled; returns their names. */
export const finishBatches = async (db: Db): Promise<string[]> => {
  const over = await findOverBatches(db)
  if (over.length === 0) return []
  return finishBatchRows(
    db,
    over.map(({ id, migrated }) => ({ id, message: howFinished(migrated) })),
  )
}

const howFinished = (migrated: boolean): string =>
  migrated ? 'Every entry has finished.' : 'Every entry was given up: nothing was migrated.'

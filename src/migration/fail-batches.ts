import type { Db } from '../../db/client.ts'
import { lockBatch, moveBatch } from '../../db/queries/batch-rows.ts'
import { type FailedStart, findFailedStarts } from '../../db/queries/find-failed-starts.ts'
import { applyBatchEvent, type BatchState } from '../domain/migration/batch-table.ts'

/** A batch whose start ended without success has not got all its entries: it says so, and can be started again. */
export const failBatches = async (db: Db): Promise<void> => {
  for (const { batch } of await findFailedStarts(db)) await failBatch(db, batch)
}

const failBatch = (db: Db, name: string) =>
  db.begin(async (tx) => {
    const batch = await lockBatch(tx, name)
    // Somebody may have started it again since.
    const [failed] = await findFailedStarts(tx, name)
    const to = batch && applyBatchEvent(batch.state as BatchState, 'fail')
    if (!batch || !failed || !to) return
    await moveBatch(tx, { batch, to, event: 'failed', message: whyFailed(failed), by: 'conductor' })
  })

const whyFailed = ({ state, error }: FailedStart): string =>
  state === 'canceled'
    ? 'Its start was cancelled before all entries were made. Start it again, or reset it.'
    : `Its entries could not be made: ${error?.message ?? 'the start failed.'} Start it again, or reset it.`

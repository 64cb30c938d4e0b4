import { findBatch, listWindows } from '../../db/queries/batches/batch-rows.ts'
import { startBatch } from '../../src/domain/job/kinds/start-batch.ts'
import { defineHandler, done } from '../../src/ledger/job.ts'
import { makeEntries, sayFound } from '../../src/migration/batch/make-entries.ts'
import { viewBatch } from '../../src/migration/entry/batch-view.ts'

/** Finds the instances of a batch, or makes the entries of its start. */
export const handleStartBatch = defineHandler(startBatch, async (ctx) => {
  const { batch: name, purpose, version } = ctx.payload
  const row = await findBatch(ctx.db, name)
  if (!row) return done({ skipped: 'the batch is gone' })
  if (purpose === 'assign' && row.version !== version) return done({ skipped: 'the batch was changed since' })
  if (purpose === 'start' && row.state !== 'running') return done({ skipped: `the batch is ${row.state}` })
  const batch = viewBatch(row, await listWindows(ctx.db, row.id))
  const found = await makeEntries(ctx, batch, purpose)
  if (purpose === 'start') await sayFound(ctx, batch, found)
  return done({ ...found })
})

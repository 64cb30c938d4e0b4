import { v7 as uuidv7 } from 'uuid'
import { insertPlan, prunePlans } from '../../db/queries/batches/batch-plan-rows.ts'
import { findBatch, listWindows } from '../../db/queries/batches/batch-rows.ts'
import { insertAuditEvent } from '../../db/queries/events/insert-audit-event.ts'
import { planBatch as planBatchKind } from '../../src/domain/job/kinds/plan-batch.ts'
import { defineHandler, done } from '../../src/ledger/job.ts'
import { viewBatch } from '../../src/migration/entry/batch-view.ts'
import type { ScriptThreads } from '../../src/migration/place/script-runner.ts'
import { planBatch } from '../../src/migration/plan/plan-batch.ts'

/** Plans kept for a batch: the newest, and the last approved ones. */
const keptPlans = { newest: 20, approved: 5 }

/** Plans a batch and stores the plan. */
export const handlePlanBatch = (threads: ScriptThreads) =>
  defineHandler(planBatchKind, async (ctx) => {
    const { batch: name, by } = ctx.payload
    const row = await findBatch(ctx.db, name)
    if (!row) return done({ skipped: 'the batch is gone' })
    const batch = viewBatch(row, await listWindows(ctx.db, row.id))
    const { document, digest } = await planBatch(ctx, batch, threads)
    const id = uuidv7()
    return done(
      { plan_id: id, digest, totals: { ...document.totals } },
      {
        change: async (tx) => {
          await insertPlan(tx, { id, batchId: row.id, document: { ...document }, digest, by })
          await prunePlans(tx, row.id, keptPlans)
          const { instances, goes, blocked, conflict } = document.totals
          await insertAuditEvent(tx, {
            type: 'batch.planned',
            subject: { type: 'batch', id: name },
            actor: by,
            detail: { plan_id: id, digest, instances, goes, blocked, conflict },
          })
        },
      },
    )
  })

import { cutoverInstance } from '../../src/domain/job/kinds/cutover-instance.ts'
import { defineHandler } from '../../src/ledger/job.ts'
import type { ByteBudget } from '../../src/migration/copy/byte-budget.ts'
import { cutOverEntry } from '../../src/migration/cutover/cutover-entry.ts'
import { sourceStopKind } from '../../src/migration/source/source-stops.ts'
import { undoSourceStop } from '../../src/migration/source/start-source.ts'

/** Switches a source off, copies the rest, and fits the copy to its target. */
export const handleCutoverInstance = (budget: ByteBudget) =>
  defineHandler(cutoverInstance, (ctx) => cutOverEntry(ctx, ctx.payload.entry_id, budget), {
    [sourceStopKind]: undoSourceStop,
  })

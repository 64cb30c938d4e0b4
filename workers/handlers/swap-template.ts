import { swapTemplate as kind } from '../../src/domain/job/kinds/swap-template.ts'
import { removalKind } from '../../src/domain/template/version.ts'
import { defineHandler } from '../../src/ledger/job.ts'
import { undoRemoval } from '../../src/template/swap/removal.ts'
import { postgresRows, type SwapRows } from '../../src/template/swap/swap-rows.ts'
import { taskKind, undoSwapTask } from '../../src/template/swap/swap-task.ts'
import { swapKind, swapTemplate } from '../../src/template/swap/swap-template.ts'
import type { ImportImage } from '../../src/template/swap/swap-work.ts'
import { undoSwap } from '../../src/template/swap/undo-swap.ts'

/** Makes a template point at the wanted image. */
export const handleSwapTemplate = (importImage: ImportImage, rows: SwapRows = postgresRows) =>
  defineHandler(kind, (ctx) => swapTemplate(ctx, ctx.payload.template_id, { importImage, rows }), {
    [swapKind]: undoSwap(rows),
    [taskKind]: undoSwapTask(rows),
    [removalKind]: undoRemoval(rows),
  })

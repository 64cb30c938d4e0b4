import { importInstance } from '../../src/domain/job/kinds/import-instance.ts'
import { defineHandler } from '../../src/ledger/job.ts'
import type { ByteBudget } from '../../src/migration/copy/byte-budget.ts'
import { importEntry } from '../../src/migration/copy/import-entry.ts'
import { snapshotKind, undoSnapshot } from '../../src/migration/copy/source-snapshot.ts'

/** Copies what changed on a running source. */
export const handleImportInstance = (budget: ByteBudget) =>
  defineHandler(importInstance, (ctx) => importEntry(ctx, ctx.payload.entry_id, budget), {
    [snapshotKind]: undoSnapshot,
  })

import { importInstance } from '../../src/domain/job/import-instance.ts'
import { defineHandler } from '../../src/ledger/job.ts'
import type { ByteBudget } from '../../src/migration/copy/byte-budget.ts'
import { snapshotKind, undoSnapshot } from '../../src/migration/copy/source-snapshot.ts'
import { importEntry } from '../../src/migration/import-entry.ts'

/** Copies what changed on a running source. */
export const handleImportInstance = (budget: ByteBudget) =>
  defineHandler(importInstance, (ctx) => importEntry(ctx, ctx.payload.entry_id, budget), {
    [snapshotKind]: undoSnapshot,
  })

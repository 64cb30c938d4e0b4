import { syncSource } from '../../src/domain/job/kinds/sync-source.ts'
import { syncSite } from '../../src/inventory/sync/sync-site.ts'
import { defineHandler } from '../../src/ledger/job.ts'
import type { Sealer } from '../../src/seal/seal.ts'

/** Reads a source and makes the reading its inventory. */
export const handleSyncSource = (sealer: Sealer) =>
  defineHandler(syncSource, (ctx) => {
    const { source, mode, force } = ctx.payload
    return syncSite(ctx, sealer, { role: 'source', name: source, mode, force })
  })

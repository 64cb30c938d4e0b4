import { syncTarget } from '../../src/domain/job/kinds/sync-target.ts'
import { syncSite } from '../../src/inventory/sync/sync-site.ts'
import { defineHandler } from '../../src/ledger/job.ts'
import type { Sealer } from '../../src/seal/seal.ts'

/** Reads a target: its hosts, networks, storage and machines. */
export const handleSyncTarget = (sealer: Sealer) =>
  defineHandler(syncTarget, (ctx) => {
    const { target, mode, force } = ctx.payload
    return syncSite(ctx, sealer, { role: 'target', name: target, mode, force })
  })

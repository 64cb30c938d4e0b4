import type { z } from 'zod'
import { syncTarget } from '../../src/domain/job/sync-target.ts'
import type { SyncParts } from '../../src/inventory/sync-site.ts'
import type { Handler } from '../handler.ts'
import { runSync } from './sync-source.ts'

type Payload = z.infer<typeof syncTarget.payload>

/** Reads a target: where machines may go, and how much room there is. */
export const createSyncTarget = (parts: SyncParts): Handler<Payload> => ({
  kind: syncTarget,
  run: (ctx) => {
    const { target, mode, force } = ctx.payload
    return runSync(ctx, parts, { role: 'target', name: target, mode, force })
  },
})

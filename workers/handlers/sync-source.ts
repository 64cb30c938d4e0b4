import type { z } from 'zod'
import { syncSource } from '../../src/domain/job/sync-source.ts'
import { type AskedSync, type SyncParts, syncSite } from '../../src/inventory/sync-site.ts'
import type { Turn } from '../../src/inventory/turn.ts'
import { done, type Handler, type Outcome, waitFor } from '../handler.ts'

type Payload = z.infer<typeof syncSource.payload>

/** Reads a source and makes what was read its inventory. */
export const createSyncSource = (parts: SyncParts): Handler<Payload> => ({
  kind: syncSource,
  run: (ctx) => {
    const { source, mode, force } = ctx.payload
    return runSync(ctx, parts, { role: 'source', name: source, mode, force })
  },
})

/** How long the end of another sync is waited for before we look again. */
const busyMs = 2_000

/** The same for a target. */
export const runSync = async (turn: Turn, parts: SyncParts, asked: AskedSync): Promise<Outcome> => {
  const outcome = await syncSite(turn, parts, asked)
  if (outcome.type === 'synced') return done(outcome.result)
  return waitFor({
    reason: 'another-sync',
    detail: `Job ${outcome.by} syncs ${asked.name} now; this one goes on after it.`,
    forMs: busyMs,
  })
}

import type { z } from 'zod'
import type { Db } from '../../db/client.ts'
import { withdrawEntry as kind } from '../../src/domain/job/withdraw-entry.ts'
import type { UsePlatform } from '../../src/inventory/sync-site.ts'
import { cleanUpKind, undoCleanUp } from '../../src/migration/clean-up.ts'
import { withdrawEntry } from '../../src/migration/withdraw-entry.ts'
import { done, type Handler, waitFor } from '../handler.ts'

type Payload = z.infer<typeof kind.payload>

/** Puts right what an entry left outside. */
export const createWithdrawEntry = (db: Db, use: UsePlatform): Handler<Payload> => ({
  kind,
  run: async (ctx) => {
    const { entry_id: entryId, source, target } = ctx.payload
    const outcome = await withdrawEntry(ctx, entryId, { use, orders: { source, target } })
    if (outcome.type === 'done') return done(outcome.result, outcome.change, outcome.lock)
    return waitFor({ reason: 'power', detail: `Waits for ${outcome.forWhat}.`, forMs: outcome.forMs })
  },
  undoers: { [cleanUpKind]: undoCleanUp(db, use) },
})

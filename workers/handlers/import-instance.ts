import type { z } from 'zod'
import type { Db } from '../../db/client.ts'
import { importInstance } from '../../src/domain/job/import-instance.ts'
import type { UsePlatform } from '../../src/inventory/sync-site.ts'
import type { ByteBudget } from '../../src/migration/copy/byte-budget.ts'
import { snapshotKind, undoSnapshot } from '../../src/migration/copy/source-snapshot.ts'
import { importEntry } from '../../src/migration/import-entry.ts'
import { done, type Handler } from '../handler.ts'
import { laneWatch } from '../lane-watch.ts'

type Payload = z.infer<typeof importInstance.payload>

export interface CopyParts {
  readonly db: Db
  readonly use: UsePlatform
  readonly budget: ByteBudget
}

/** Copies what changed on a running source. */
export const createImportInstance = ({ db, use, budget }: CopyParts): Handler<Payload> => ({
  kind: importInstance,
  run: async (ctx) => {
    const { result, change } = await importEntry(ctx, ctx.payload.entry_id, {
      use,
      budget,
      pace: laneWatch(ctx),
    })
    return done(result, change)
  },
  undoers: { [snapshotKind]: undoSnapshot(db, use) },
})

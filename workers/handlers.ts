import type { Db } from '../db/client.ts'
import type { SyncParts } from '../src/inventory/sync-site.ts'
import { ByteBudget } from '../src/migration/copy/byte-budget.ts'
import type { CpuPool } from './cpu-pool.ts'
import type { Handler, Undoer } from './handler.ts'
import { createCheckConnection } from './handlers/check-connection.ts'
import { createCutoverInstance } from './handlers/cutover-instance.ts'
import { createFinalVerify } from './handlers/final-verify.ts'
import { createImportInstance } from './handlers/import-instance.ts'
import { createOperateMachine } from './handlers/operate-machine.ts'
import { createPlaceInstance } from './handlers/place-instance.ts'
import { createPlanBatch } from './handlers/plan-batch.ts'
import { createPowerInstance } from './handlers/power-instance.ts'
import { createSelfTest } from './handlers/self-test.ts'
import { createSettleDebt } from './handlers/settle-debt.ts'
import { createStartBatch } from './handlers/start-batch.ts'
import { createSyncSource } from './handlers/sync-source.ts'
import { createSyncTarget } from './handlers/sync-target.ts'
import { createTrackInstance } from './handlers/track-instance.ts'
import { createWithdrawEntry } from './handlers/withdraw-entry.ts'

export interface HandlerSet {
  readonly handlers: ReadonlyMap<string, Handler>
  readonly undoers: ReadonlyMap<string, Undoer>
}

export interface HandlerParts extends SyncParts {
  readonly db: Db
  /** The self-test's outside world. */
  readonly world: Db
  readonly cpu: CpuPool
}

/** Of disks, in memory at once, over all copies of this process. */
const copyBytes = 96 * 1024 * 1024

/** Every handler this version has. A new one is a file in `handlers/` and a line here. */
export const createHandlers = (parts: HandlerParts): HandlerSet => {
  const undoers = new Map<string, Undoer>()
  const copies = { ...parts, budget: new ByteBudget(copyBytes) }
  const all = [
    createSelfTest(parts.world, parts.cpu),
    createSettleDebt(undoers),
    createSyncSource(parts),
    createSyncTarget(parts),
    createCheckConnection(parts.use),
    createPowerInstance(parts.use),
    createTrackInstance(parts.db, parts.use),
    createStartBatch(),
    createPlanBatch({ use: parts.use, threads: parts.cpu }),
    createPlaceInstance(parts),
    createImportInstance(copies),
    createCutoverInstance(copies),
    createFinalVerify(copies),
    createWithdrawEntry(parts.db, parts.use),
    createOperateMachine(parts),
  ] as readonly Handler[]
  for (const handler of all)
    for (const [effectKind, undoer] of Object.entries(handler.undoers ?? {})) undoers.set(effectKind, undoer)
  return { handlers: new Map(all.map((handler) => [handler.kind.kind, handler])), undoers }
}

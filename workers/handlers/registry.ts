import type { Db } from '../../db/client.ts'
import type { Handler, Undoer } from '../../src/ledger/job.ts'
import { ByteBudget } from '../../src/migration/copy/byte-budget.ts'
import type { Sealer } from '../../src/seal/seal.ts'
import { imageImporter } from '../../src/template/import/import-image.ts'
import type { SourceMeans } from '../../src/template/import/source.ts'
import type { CpuPool } from '../cpu-pool.ts'
import { handleCheckConnection } from './check-connection.ts'
import { handleCutoverInstance } from './cutover-instance.ts'
import { handleFinalVerify } from './final-verify.ts'
import { handleImportInstance } from './import-instance.ts'
import { handleImportOva } from './import-ova.ts'
import { handleOperateMachine } from './operate-machine.ts'
import { handlePlaceInstance } from './place-instance.ts'
import { handlePlanBatch } from './plan-batch.ts'
import { handlePowerInstance } from './power-instance.ts'
import { handleRemoveReplica } from './remove-replica.ts'
import { handleSelfTest } from './self-test.ts'
import { handleSettleDebt } from './settle-debt.ts'
import { handleStartBatch } from './start-batch.ts'
import { handleSwapTemplate } from './swap-template.ts'
import { handleSyncSource } from './sync-source.ts'
import { handleSyncTarget } from './sync-target.ts'
import { handleTrackInstance } from './track-instance.ts'
import { handleWithdrawEntry } from './withdraw-entry.ts'

export interface HandlerSet {
  readonly handlers: ReadonlyMap<string, Handler>
  readonly undoers: ReadonlyMap<string, Undoer>
}

export interface HandlerParts {
  readonly sealer: Sealer
  /** The self-test's outside world. */
  readonly world: Db
  readonly cpu: CpuPool
  /** What archives of images may be read from. */
  readonly images: SourceMeans
}

/** Of disks, in memory at once, over all copies of this process. */
const copyBytes = 96 * 1024 * 1024

/** Every handler this version has. A new one is a file in `handlers/` and a line here. */
export const createHandlers = ({ sealer, world, cpu, images }: HandlerParts): HandlerSet => {
  const undoers = new Map<string, Undoer>()
  const budget = new ByteBudget(copyBytes)
  const importImage = imageImporter(images)
  return handlerSet(undoers, [
    handleSelfTest(world, cpu),
    handleSettleDebt(undoers),
    handleSyncSource(sealer),
    handleSyncTarget(sealer),
    handleCheckConnection,
    handlePowerInstance,
    handleTrackInstance,
    handleStartBatch,
    handlePlanBatch(cpu),
    handlePlaceInstance(cpu),
    handleImportInstance(budget),
    handleCutoverInstance(budget),
    handleFinalVerify({ budget, threads: cpu, sealer }),
    handleWithdrawEntry,
    handleOperateMachine,
    handleImportOva(importImage),
    handleRemoveReplica,
    handleSwapTemplate(importImage),
  ])
}

const handlerSet = (undoers: Map<string, Undoer>, all: readonly Handler[]): HandlerSet => {
  for (const handler of all)
    for (const [effectKind, undoer] of Object.entries(handler.undoers ?? {})) undoers.set(effectKind, undoer)
  return { handlers: new Map(all.map((handler) => [handler.kind.kind, handler])), undoers }
}

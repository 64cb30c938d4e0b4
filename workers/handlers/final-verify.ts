import { finalVerify } from '../../src/domain/job/kinds/final-verify.ts'
import { defineHandler } from '../../src/ledger/job.ts'
import type { ByteBudget } from '../../src/migration/copy/byte-budget.ts'
import type { ScriptThreads } from '../../src/migration/place/script-runner.ts'
import { TargetLooks } from '../../src/migration/place/target-view.ts'
import { targetStartKind } from '../../src/migration/target/own-target.ts'
import { placeAgain } from '../../src/migration/verify/place-again.ts'
import { undoTargetStart } from '../../src/migration/verify/start-target.ts'
import { verifyEntry } from '../../src/migration/verify/verify-entry.ts'
import type { Sealer } from '../../src/seal/seal.ts'

export interface FinalVerifyParts {
  readonly budget: ByteBudget
  readonly threads: ScriptThreads
  readonly sealer: Sealer
}

/** Proves that the target equals the source, starts the target, and signs the evidence. */
export const handleFinalVerify = ({ budget, threads, sealer }: FinalVerifyParts) => {
  const parts = { budget, sealer, placeAgain: placeAgain({ threads, looks: new TargetLooks() }) }
  return defineHandler(
    finalVerify,
    (ctx) => verifyEntry(ctx, { entryId: ctx.payload.entry_id, force: ctx.payload.force }, parts),
    { [targetStartKind]: undoTargetStart },
  )
}

import type { z } from 'zod'
import { finalVerify } from '../../src/domain/job/final-verify.ts'
import { targetStartKind } from '../../src/migration/own-target.ts'
import type { ScriptThreads } from '../../src/migration/placement/script-runner.ts'
import { TargetLooks } from '../../src/migration/placement/target-view.ts'
import { placeAgain } from '../../src/migration/verify/place-again.ts'
import { undoTargetStart } from '../../src/migration/verify/start-target.ts'
import { verifyEntry } from '../../src/migration/verify/verify-entry.ts'
import type { Sealer } from '../../src/seal.ts'
import { done, type Handler, waitFor } from '../handler.ts'
import { laneWatch } from '../lane-watch.ts'
import type { CopyParts } from './import-instance.ts'

type Payload = z.infer<typeof finalVerify.payload>

export interface FinalVerifyParts extends CopyParts {
  readonly cpu: ScriptThreads
  readonly sealer: Sealer
}

/** Proves that what was migrated is what was there, starts it, and signs the evidence. */
export const createFinalVerify = ({ db, use, budget, cpu, sealer }: FinalVerifyParts): Handler<Payload> => {
  const again = placeAgain({ use, threads: cpu, looks: new TargetLooks(use) })
  return {
    kind: finalVerify,
    run: async (ctx) => {
      const { entry_id: entryId, force } = ctx.payload
      const parts = { use, budget, pace: laneWatch(ctx), sealer, placeAgain: again }
      const outcome = await verifyEntry(ctx, { entryId, force }, parts)
      if (outcome.type === 'done') return done(outcome.result, outcome.change, outcome.lock)
      return waitFor({
        reason: 'verify',
        detail: `${outcome.name}: waits for ${outcome.forWhat}.`,
        forMs: outcome.forMs,
      })
    },
    undoers: { [targetStartKind]: undoTargetStart(db, use) },
  }
}

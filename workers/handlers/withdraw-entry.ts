import { withdrawEntry as kind } from '../../src/domain/job/kinds/withdraw-entry.ts'
import { defineHandler } from '../../src/ledger/job.ts'
import { cleanUpKind, undoCleanUp } from '../../src/migration/target/clean-up.ts'
import { withdrawEntry } from '../../src/migration/withdraw/withdraw-entry.ts'

/** Removes what an entry left outside Drover. */
export const handleWithdrawEntry = defineHandler(
  kind,
  (ctx) => {
    const { entry_id: entryId, source, target } = ctx.payload
    return withdrawEntry(ctx, entryId, { source, target })
  },
  { [cleanUpKind]: undoCleanUp },
)

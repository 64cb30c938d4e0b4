import { checkConnection } from '../../src/domain/job/kinds/check-connection.ts'
import { checkSite } from '../../src/inventory/sync/check-site.ts'
import { defineHandler, done } from '../../src/ledger/job.ts'

/** Checks whether a source or target can be reached. An unreachable site is a result, not a failure of the job. */
export const handleCheckConnection = defineHandler(checkConnection, async (ctx) =>
  done(await checkSite(ctx, ctx.payload)),
)

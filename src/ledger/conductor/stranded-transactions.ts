import type { Db } from '../../../db/client.ts'
import { endStrandedTransactions } from '../../../db/queries/fleet/end-stranded-transactions.ts'
import type { Clock } from '../../clock.ts'
import { limits } from '../../config/config.ts'
import type { Logger } from '../../process/log.ts'
import { Loop } from '../../process/service.ts'

/** Ends transactions of processes that were frozen during a statement, so that nothing waits for their locks. */
export const strandedTransactions = (options: {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  /** How long a process may be silent. */
  readonly silentMs: number
}): Loop =>
  new Loop({
    name: 'stranded-transactions',
    intervalMs: limits.conductorTickMs,
    clock: options.clock,
    log: options.log,
    runOnce: async () => {
      const ended = await endStrandedTransactions(options.db, options.silentMs)
      if (ended > 0)
        options.log.warn({ ended }, 'transactions of processes that have fallen silent were ended')
      return false
    },
  })

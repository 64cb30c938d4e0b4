import type { Db } from '../../../db/client.ts'
import { findSilentBells } from '../../../db/queries/bell/find-silent-bells.ts'
import { unringAll } from '../../../db/queries/bell/unring-all.ts'
import { unringJobs } from '../../../db/queries/bell/unring-jobs.ts'
import { readLedgerFact, writeLedgerFact } from '../../../db/queries/events/ledger-facts.ts'
import type { Clock } from '../../clock.ts'
import { limits } from '../../config/config.ts'
import type { Logger } from '../../process/log.ts'
import { Loop } from '../../process/service.ts'
import { type Bell, bellId } from './bell.ts'

export interface BellWatchOptions {
  readonly db: Db
  readonly bell: Bell
  readonly clock: Clock
  readonly log: Logger
  /** Called when bells have to be rung again. */
  readonly onLost: () => void
}

const identityFact = 'bell-identity'
/** More than the windows of all kinds: slow bells must not hide lost ones. */
const silentBatch = 50_000

/** Notices a bell store that was flushed, replaced or restored: every bell that was out is rung again. */
export const createBellWatch = (options: BellWatchOptions): Loop =>
  new Loop({
    name: 'bell-watch',
    intervalMs: limits.bellIdentityMs,
    clock: options.clock,
    log: options.log,
    failureCapMs: 500,
    runOnce: async () => {
      const identity = `${options.bell.store}:${await options.bell.identity()}`
      const known = await readLedgerFact(options.db, identityFact)
      if (known === identity) return false
      // Another store may have other settings: the checks of the start are repeated.
      await options.bell.prepare()
      const lost = await unringAll(options.db)
      await writeLedgerFact(options.db, identityFact, identity)
      if (known !== undefined)
        options.log.warn(
          { lost },
          'the bell store is another one than before; every bell that was out is rung again',
        )
      options.onLost()
      return false
    },
  })

/**
 * Rings again for jobs whose bell is out, was not followed for `olderMs`, and is no longer queued: a worker took it
 * and died before the claim. A bell that is still queued is only slow and left alone.
 */
export const createSilentBellSweep = (options: BellWatchOptions & { olderMs: number }): Loop =>
  new Loop({
    name: 'silent-bells',
    intervalMs: limits.conductorTickMs,
    clock: options.clock,
    log: options.log,
    runOnce: async () => {
      const silent = await findSilentBells(options.db, options.olderMs, silentBatch)
      const lost: string[] = []
      for (const kind of new Set(silent.map((bell) => bell.kind))) {
        const pending = await options.bell.pending(kind)
        for (const bell of silent) if (bell.kind === kind && !pending.has(bellId(bell))) lost.push(bell.id)
      }
      if (lost.length === 0) return false
      await unringJobs(options.db, lost, 0)
      options.log.info({ bells: lost.length }, 'bells that nobody followed are rung again')
      options.onLost()
      return lost.length === silentBatch
    },
  })

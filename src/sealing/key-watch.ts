import type { Queryable } from '../../db/client.ts'
import type { Clock } from '../clock.ts'
import { DroverError } from '../errors.ts'
import type { Logger } from '../process/log.ts'
import { Loop } from '../process/service.ts'
import type { Sealer } from '../seal/seal.ts'
import { checkKey, checkStart } from './key-check.ts'

/** Longer than this, nobody works on with keys that are not enough: what `drover rekey` waits for. */
export const keyWatchMs = 2_000

/**
 * Ends a process that lacks a key that has come into use, or is too old for what a newer version made of the database. It
 * drains as on any other stop, and whoever starts it again is told why; working on, it would break off every migration
 * that it touches.
 */
export const keyWatch = (options: {
  readonly db: Queryable
  readonly sealer: Sealer
  readonly clock: Clock
  readonly log: Logger
  readonly stop?: () => void
}): Loop => {
  const { db, sealer, clock, log, stop = () => process.kill(process.pid, 'SIGTERM') } = options
  let told = false
  return new Loop({
    name: 'key-watch',
    intervalMs: keyWatchMs,
    clock,
    log,
    runOnce: async () => {
      try {
        await checkStart(db, sealer)
      } catch (error) {
        if (!(error instanceof DroverError)) throw error
        if (!told) log.fatal({ err: error }, 'this process may not work on this database any more; it ends')
        if (!told) stop()
        told = true
      }
      return false
    },
  })
}

/** The reason against readiness, where there is one. */
export const keyReasons = async (db: Queryable, sealer: Sealer): Promise<readonly string[]> => {
  try {
    await checkKey(db, sealer)
    return []
  } catch (error) {
    // That Postgres is away is said by who looks at it.
    return error instanceof DroverError ? [error.message] : []
  }
}

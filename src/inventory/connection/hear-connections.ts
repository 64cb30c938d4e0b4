import type { Db, Tx } from '../../../db/client.ts'
import { hastenCheck } from '../../../db/queries/sites/hasten-check.ts'
import { lockSite } from '../../../db/queries/sites/load-site.ts'
import type { Clock } from '../../clock.ts'
import { connectionAfter } from '../../domain/inventory/connectivity.ts'
import type { DroverError } from '../../errors.ts'
import type { ConnectionWatch } from '../../platforms/ports/connection.ts'
import type { Logger } from '../../process/log.ts'
import { noteConnection } from './note-connection.ts'

export interface HearOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  /** The jobs of a process can meet an unreachable platform many times a second: it is recorded once in this time. */
  readonly quietMs?: number
}

interface HeardSite {
  readonly id: string
  readonly endpoint: string
}

/**
 * Every job reports what its calls tell of the connection, in addition to the periodic check. A refused connection
 * marks the platform at once, in a transaction of its own; a broken connection, and the first answer after a failure,
 * cause a check at once. Only a check can mark a platform as well, because it also verifies the identity.
 */
export const hearConnections =
  ({ db, clock, log, quietMs = 5_000 }: HearOptions): ((site: HeardSite) => ConnectionWatch) =>
  (site) => {
    let failing = false
    let quietUntil = Number.NEGATIVE_INFINITY
    const tell = (change: (tx: Tx) => Promise<void>): boolean => {
      if (clock.monotonicMs() < quietUntil) return false
      quietUntil = clock.monotonicMs() + quietMs
      db.begin(change).catch((error: unknown) =>
        log.warn({ err: error, site: site.id }, 'what was heard of a platform could not be written down'),
      )
      return true
    }
    return {
      failed: (error) => {
        const said = connectionAfter(error)
        if (said === 'unsaid') return
        failing = true
        tell((tx) =>
          said === 'away'
            ? markAway(tx, site, error)
            : hastenCheck(tx, site.id, { well: true, seconds: doubtSeconds }),
        )
      },
      answered: () => {
        if (failing && tell((tx) => hastenCheck(tx, site.id, { well: false, seconds: 0 }))) failing = false
      },
    }
  }

/** Calls to a slow platform time out again and again; a check each time would make it slower. */
const doubtSeconds = 10

/** Only a platform that was well so far: any other known trouble says more than "unreachable". */
const markAway = async (tx: Tx, heard: HeardSite, error: DroverError): Promise<void> => {
  const site = await lockSite(tx, heard.id)
  // A person may have corrected its address meanwhile.
  if (!site || site.endpoint !== heard.endpoint) return
  if (site.connectivity !== 'ok') return
  await noteConnection(tx, site, { ok: false, error }, 'worker')
  await hastenCheck(tx, site.id, { well: false, seconds: 0 })
}

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
  /** The jobs of a process meet a platform that is away many times a second: it is told once in so long. */
  readonly quietMs?: number
}

interface HeardSite {
  readonly id: string
  readonly endpoint: string
}

/**
 * What any job meets on its way to a platform tells of its connection, not the look by the clock alone: a refused
 * connection marks the platform at once, in a transaction of its own; one that broke off, and the first answer after a
 * failure, have it looked at at once. Only a look says that it is well: it asks who answers, too.
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

/** A platform that is only slow lets calls run out of time again and again; a look each time would make it slower. */
const doubtSeconds = 10

/** Only where it was well by the last word: what else is the matter with it says more than that nobody is there. */
const markAway = async (tx: Tx, heard: HeardSite, error: DroverError): Promise<void> => {
  const site = await lockSite(tx, heard.id)
  // A person may have corrected its address meanwhile.
  if (!site || site.endpoint !== heard.endpoint) return
  if (site.connectivity !== 'ok') return
  await noteConnection(tx, site, { ok: false, error }, 'worker')
  await hastenCheck(tx, site.id, { well: false, seconds: 0 })
}

import type { Db } from '../../../db/client.ts'
import { pruneApiRequests } from '../../../db/queries/access/prune-api-requests.ts'
import { pruneEndedSessions } from '../../../db/queries/access/prune-ended-sessions.ts'
import { pruneWorkers } from '../../../db/queries/fleet/prune-workers.ts'
import { readSettingRows } from '../../../db/queries/fleet/settings.ts'
import { pruneJobs } from '../../../db/queries/jobs/prune-jobs.ts'
import { pruneSignals } from '../../../db/queries/jobs/prune-signals.ts'
import type { Clock } from '../../clock.ts'
import { settingValue } from '../../domain/settings.ts'
import type { Logger } from '../../process/log.ts'
import { Loop } from '../../process/service.ts'
import type { Sealer } from '../../seal/seal.ts'
import { pruneEvents } from '../seals/prune-events.ts'

export interface RetentionOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  /** Signs what was pruned. */
  readonly sealer: Pick<Sealer, 'mac' | 'isMac' | 'open'>
  /** No event is removed before this age, whatever the setting says. */
  readonly eventsKeptDaysMin: number
  /** The actor named in the statement about pruned events. */
  readonly by: string
  readonly intervalMs?: number
  /** Rows per statement. */
  readonly batch?: number
  /** The pause between two rounds of batches, so that live work always has room. */
  readonly pauseMs?: number
}

export interface Pruned {
  readonly jobs: number
  readonly events: number
  readonly signals: number
  readonly apiRequests: number
  readonly workers: number
  /** Why events may not be removed although they are old enough. */
  readonly refused?: string
  readonly sessions: number
  /** Whether another round may find something. */
  readonly more: boolean
}

const signalHours = 1
const apiRequestHours = 24
/** Added to their end, for clocks that disagree. */
const endedSessionHours = 24

/** Removes what is old enough, a little at a time, in the background of the conductor. */
export const retentionService = (options: RetentionOptions): Loop => {
  let told: string | undefined
  return new Loop({
    name: 'retention',
    intervalMs: options.intervalMs ?? 60_000,
    runOnce: async (signal) => {
      const { more, refused, ...pruned } = await pruneOnce(options)
      if (refused !== undefined && refused !== told) options.log.error({ refused }, 'no event may be removed')
      told = refused
      if (Object.values(pruned).some((count) => count > 0))
        options.log.debug({ pruned }, 'old rows were removed')
      if (more) await options.clock.sleep(options.pauseMs ?? 100, signal)
      return more
    },
    clock: options.clock,
    log: options.log,
  })
}

/** One batch of each, each in a short transaction. */
export const pruneOnce = async (
  options: Pick<RetentionOptions, 'db' | 'batch' | 'sealer' | 'eventsKeptDaysMin' | 'by'>,
): Promise<Pruned> => {
  const { db } = options
  const limit = options.batch ?? 500
  const stored = new Map((await readSettingRows(db)).map((row) => [row.name, row.value]))
  const days = (name: string): number => settingValue(stored, name)
  const jobs = await pruneJobs(db, {
    days: days('retention-jobs-days'),
    failedDays: days('retention-failed-jobs-days'),
    limit,
  })
  const { events, more, refused } = await pruneEvents({
    db,
    sealer: options.sealer,
    by: options.by,
    days: days('retention-events-days'),
    floorDays: options.eventsKeptDaysMin,
    limit,
  })
  const signals = await pruneSignals(db, { hours: signalHours, limit })
  const apiRequests = await pruneApiRequests(db, { hours: apiRequestHours, limit })
  const workers = await pruneWorkers(db, { days: days('retention-workers-days'), limit })
  const sessions = await pruneEndedSessions(db, { hours: endedSessionHours, limit })
  const full = [jobs, signals, apiRequests, workers, sessions].some((count) => count === limit)
  const told = refused === undefined ? {} : { refused }
  return { jobs, events, signals, apiRequests, workers, sessions, ...told, more: more || full }
}

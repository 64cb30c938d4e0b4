import { hostname } from 'node:os'
import { v7 as uuidv7 } from 'uuid'
import { type Db, openDb, type Tx } from '../../db/client.ts'
import { ping } from '../../db/queries/bell/ping.ts'
import { beatWorker, stopWorker } from '../../db/queries/fleet/workers.ts'
import { installationKey } from '../certificate/installation-key.ts'
import { type Clock, systemClock } from '../clock.ts'
import { type Config, limits, requireSecretKey, version } from '../config/config.ts'
import { inventoryTicks, judgeStale, sweepStage } from '../inventory/sync/ticks.ts'
import { openBell, prepareBell } from '../ledger/bell/bell.ts'
import { backlogMetrics } from '../ledger/conductor/backlog-metrics.ts'
import { Conductor } from '../ledger/conductor/conductor.ts'
import { retentionService } from '../ledger/conductor/retention.ts'
import { strandedTransactions } from '../ledger/conductor/stranded-transactions.ts'
import { warnOfPower } from '../ledger/conductor/warn-of-power.ts'
import { Webhooks } from '../ledger/events/webhooks.ts'
import { handOutHeadsService } from '../ledger/seals/hand-out-heads.ts'
import { type HeadsMemory, lostHeadWords } from '../ledger/seals/lost-head.ts'
import { sealEventsService } from '../ledger/seals/seal-events.ts'
import { migrationScheduler } from '../migration/batch/scheduler.ts'
import { operationMetrics } from '../operation/upkeep/operation-metrics.ts'
import { operationRetention } from '../operation/upkeep/retention.ts'
import { operationTicks } from '../operation/upkeep/ticks.ts'
import { type Readiness, type RunningRole, serveHealth } from '../process/health.ts'
import { createLog, type Logger } from '../process/log.ts'
import { Loop } from '../process/service.ts'
import { startTracing } from '../process/telemetry.ts'
import { createSealer, type Sealer } from '../seal/seal.ts'
import { checkStartUnlessAway } from '../sealing/key-check.ts'
import { keyReasons, keyWatch } from '../sealing/key-watch.ts'
import { templateMetrics } from '../template/upkeep/template-metrics.ts'

const farewellMs = 5_000

/** Starts a conductor process. Any number may run; one leads. */
export const runConductor = async (config: Config): Promise<RunningRole> => {
  const log = createLog({ role: 'conductor', level: config.logLevel })
  const clock = systemClock
  const databaseUrl = config.databaseUrl ?? ''
  const tracing = await startTracing(config, 'conductor')
  const db = openDb({
    url: databaseUrl,
    max: 8,
    applicationName: 'drover-conductor',
    planOnce: true,
    statementMs: config.statementMs,
  })
  const sealer = createSealer(requireSecretKey(config), config.oldSecretKeys)
  await checkStartUnlessAway(db, sealer, log)
  const watch = keyWatch({ db, sealer, clock, log })
  const bell = await openBell(config, { databaseUrl, log })
  const heads: HeadsMemory = {}
  const services = [
    ...historyServices({ db, sealer, clock, log, config, heads }),
    new Webhooks({ db, sealer, clock, log }),
    backlogMetrics({ db, clock, log }),
    strandedTransactions({ db, clock, log, silentMs: config.leaseMs * 2 }),
    inventoryTicks({ db, clock, log }),
    judgeStale({ db, clock, log }),
    sweepStage({ db, clock, log }),
    migrationScheduler({ db, clock, log }),
    operationTicks({ db, clock, log }),
    operationMetrics({ db, clock, log, silentMs: config.leaseMs }),
    operationRetention({ db, clock, log }),
    templateMetrics({ db, clock, log }),
  ]
  const conductor = new Conductor({ db, databaseUrl, bell, clock, log, leaseMs: config.leaseMs, services })
  const registry = createRegistry({ db, clock, log, leaseMs: config.leaseMs })
  const ready = async (): Promise<Readiness> => {
    const reasons: string[] = []
    await ping(db).catch(() => reasons.push('Postgres cannot be reached.'))
    await bell.check().catch((error: Error) => reasons.push(error.message))
    reasons.push(...(await keyReasons(db, sealer)))
    const lost = lostHeadWords(heads, { file: config.sealHeadsFile })
    if (lost) reasons.push(`${lost.message} ${lost.remedy}`)
    return { ready: reasons.length === 0, reasons }
  }
  await prepareBell(bell, { log, clock, tries: 1 })
  await warnOfPower(db, { role: 'conductor', log })
  watch.start()
  registry.loop.start()
  conductor.start()
  const health = await serveHealth({
    role: 'conductor',
    host: config.healthHost,
    port: config.healthPort,
    ready,
    log,
  })
  return {
    name: 'conductor',
    port: health.port,
    stop: async () => {
      // A duty may hang on a Postgres that is gone; the process ends with it, and nothing of it needs more.
      const farewell = (work: Promise<unknown>) =>
        Promise.race([work.catch(() => {}), clock.sleep(farewellMs)])
      await farewell(Promise.all([conductor.stop(), registry.loop.stop(), watch.stop()]))
      await farewell(stopWorker(db, registry.id))
      await health.close()
      await bell.close()
      await db.end({ timeout: 5 })
      await tracing.stop()
    },
  }
}

/** What keeps the history true: seals, heads that are handed out, and what may go. */
const historyServices = (options: {
  readonly db: Db
  readonly sealer: Sealer
  readonly clock: Clock
  readonly log: Logger
  readonly config: Config
  readonly heads: HeadsMemory
}) => {
  const { config, heads, ...deps } = options
  const by = `conductor@${hostname()}:${process.pid}`
  const signingKey = (tx: Tx) => installationKey(tx, deps.sealer)
  return [
    sealEventsService(deps),
    handOutHeadsService({ ...deps, signingKey, by, file: config.sealHeadsFile, memory: heads }),
    retentionService({ ...deps, by, eventsKeptDaysMin: config.eventsKeptDaysMin }),
  ]
}

/** Says that this conductor lives, as long as it does. */
const createRegistry = (options: { db: Db; clock: Clock; log: Logger; leaseMs: number }) => {
  const registration = {
    id: uuidv7(),
    role: 'conductor',
    host: hostname(),
    pid: process.pid,
    version,
    kinds: {},
    slots: {},
  }
  const loop = new Loop({
    name: 'registry',
    intervalMs: Math.min(limits.heartbeatMs, options.leaseMs / 4),
    clock: options.clock,
    log: options.log,
    failureCapMs: 1_000,
    runOnce: async () => {
      await beatWorker(options.db, registration, 'active')
      return false
    },
  })
  return { id: registration.id, loop }
}

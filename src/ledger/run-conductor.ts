import { hostname } from 'node:os'
import { v7 as uuidv7 } from 'uuid'
import { type Db, openDb } from '../../db/client.ts'
import { ping } from '../../db/queries/ping.ts'
import { beatWorker, stopWorker } from '../../db/queries/workers.ts'
import { type Clock, systemClock } from '../clock.ts'
import { type Config, limits, requireSecretKey, version } from '../config.ts'
import { type Readiness, type RunningRole, serveHealth } from '../health.ts'
import { inventoryTicks, judgeStale, sweepStage } from '../inventory/ticks.ts'
import { createLog, type Logger } from '../log.ts'
import { migrationScheduler } from '../migration/scheduler.ts'
import { operationRetention } from '../operation/retention.ts'
import { operationTally } from '../operation/tally.ts'
import { operationTicks } from '../operation/ticks.ts'
import { createSealer } from '../seal.ts'
import { startTracing } from '../telemetry.ts'
import { backlogMetrics } from './backlog-metrics.ts'
import { openBell, prepareBell } from './bell.ts'
import { Conductor } from './conductor.ts'
import { retentionService } from './retention.ts'
import { sealEventsService } from './seal-events.ts'
import { Loop } from './service.ts'
import { strandedTransactions } from './stranded-transactions.ts'
import { Webhooks } from './webhooks.ts'

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
  const bell = await openBell(config, { databaseUrl, log })
  const sealer = createSealer(requireSecretKey(config))
  const services = [
    sealEventsService({ db, sealer, clock, log }),
    new Webhooks({ db, sealer, clock, log }),
    retentionService({ db, clock, log }),
    backlogMetrics({ db, clock, log }),
    strandedTransactions({ db, clock, log, silentMs: config.leaseMs * 2 }),
    inventoryTicks({ db, clock, log }),
    judgeStale({ db, clock, log }),
    sweepStage({ db, clock, log }),
    migrationScheduler({ db, clock, log }),
    operationTicks({ db, clock, log }),
    operationTally({ db, clock, log, silentMs: config.leaseMs }),
    operationRetention({ db, clock, log }),
  ]
  const conductor = new Conductor({ db, databaseUrl, bell, clock, log, leaseMs: config.leaseMs, services })
  const registry = createRegistry({ db, clock, log, leaseMs: config.leaseMs })
  const ready = async (): Promise<Readiness> => {
    const reasons: string[] = []
    await ping(db).catch(() => reasons.push('Postgres cannot be reached.'))
    await bell.check().catch((error: Error) => reasons.push(error.message))
    return { ready: reasons.length === 0, reasons }
  }
  await prepareBell(bell, { log, clock, tries: 1 })
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
      await farewell(Promise.all([conductor.stop(), registry.loop.stop()]))
      await farewell(stopWorker(db, registry.id))
      await health.close()
      await bell.close()
      await db.end({ timeout: 5 })
      await tracing.stop()
    },
  }
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

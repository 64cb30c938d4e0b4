import { hostname } from 'node:os'
import { isDeepStrictEqual } from 'node:util'
import { v7 as uuidv7 } from 'uuid'
import { type Db, openDb } from '../../db/client.ts'
import { ping } from '../../db/queries/bell/ping.ts'
import { readSettingRows } from '../../db/queries/fleet/settings.ts'
import { beatWorker, stopWorker, type WorkerRegistration } from '../../db/queries/fleet/workers.ts'
import { CpuPool } from '../../workers/cpu-pool.ts'
import { createHandlers } from '../../workers/handlers/registry.ts'
import { LeaseKeeper } from '../../workers/lease-keeper.ts'
import { Listeners } from '../../workers/listeners.ts'
import { Platforms } from '../../workers/platforms.ts'
import { Runner } from '../../workers/runner.ts'
import { type Clock, systemClock } from '../clock.ts'
import { type Config, limits, requireSecretKey, version } from '../config/config.ts'
import { concurrencySetting } from '../domain/settings.ts'
import { hearConnections } from '../inventory/connection/hear-connections.ts'
import { type Bell, openBell, prepareBell } from '../ledger/bell/bell.ts'
import { warnOfPower } from '../ledger/conductor/warn-of-power.ts'
import { ReleaseRequest } from '../ledger/job.ts'
import { cancelChannel } from '../ledger/jobs/nudge.ts'
import { type Readiness, type RunningRole, serveHealth } from '../process/health.ts'
import { createLog, type Logger } from '../process/log.ts'
import { Loop } from '../process/service.ts'
import { startTracing } from '../process/telemetry.ts'
import { createSealer, type Sealer } from '../seal/seal.ts'
import { checkStart } from '../sealing/key-check.ts'
import { keyReasons, keyWatch } from '../sealing/key-watch.ts'

/** After the drain's limit handlers are stopped by their signal; this is what they get to let go. */
const handBackMs = 2_000

/** Starts a worker process: registers it, listens to every kind it can run, keeps its leases. */
export const runWorker = async (config: Config): Promise<RunningRole> => {
  const log = createLog({ role: 'worker', level: config.logLevel })
  const sealer = createSealer(requireSecretKey(config), config.oldSecretKeys)
  const databaseUrl = config.databaseUrl ?? ''
  const tracing = await startTracing(config, 'worker')
  const { leaseMs, statementMs } = config
  const db = openDb({
    url: databaseUrl,
    max: 8,
    applicationName: 'drover-worker',
    planOnce: true,
    statementMs,
    // A worker that freezes in a transaction must not hold its job's row for longer than the lease held the job.
    idleInTransactionMs: leaseMs,
  })
  // Before anything is listened to: without the right key each job with a site would end in conflict.
  await checkStart(db, sealer)
  // The self-test's outside world: never in a transaction of the ledger's, so a pool of its own.
  const world = openDb({ url: databaseUrl, max: 2, applicationName: 'drover-self-test', statementMs })
  const cpu = new CpuPool()
  const bell = await openBell(config, { databaseUrl, log })
  const worker = new Worker({ config, db, world, cpu, sealer, bell, log, clock: systemClock })
  const health = await serveHealth({
    role: 'worker',
    host: config.healthHost,
    port: config.healthPort,
    ready: () => worker.readiness(),
    log,
  })
  await worker.start()
  return {
    name: 'worker',
    port: health.port,
    stop: async () => {
      await worker.stop()
      await health.close()
      await bell.close()
      await cpu.close()
      await Promise.all([db.end({ timeout: 5 }), world.end({ timeout: 5 })])
      await tracing.stop()
    },
  }
}

const slotsOf = (
  kinds: Iterable<string>,
  config: Config,
  stored: ReadonlyMap<string, unknown>,
): ReadonlyMap<string, number> =>
  new Map([...kinds].map((kind) => [kind, concurrencySetting(stored, kind, config.concurrency.get(kind))]))

interface WorkerOptions {
  readonly config: Config
  readonly db: Db
  readonly world: Db
  readonly cpu: CpuPool
  readonly sealer: Sealer
  readonly bell: Bell
  readonly log: Logger
  readonly clock: Clock
}

class Worker {
  readonly #options: WorkerOptions
  #registration: WorkerRegistration
  readonly #keeper: LeaseKeeper
  readonly #listeners: Listeners
  readonly #registry: Loop
  readonly #keyWatch: Loop
  readonly #platforms: Platforms
  readonly #stopping = new AbortController()
  #draining = false

  constructor(options: WorkerOptions) {
    const { config, db, bell, log, clock, world, cpu, sealer } = options
    this.#options = options
    const workerId = uuidv7()
    const watch = hearConnections({ db, clock, log })
    this.#platforms = new Platforms({ sealer, caller: `drover/${workerId}`, watch })
    const usePlatform = this.#platforms.use.bind(this.#platforms)
    const { handlers, undoers } = createHandlers({ world, cpu, sealer, images: config.images })
    const slots = new Map(
      [...handlers].map(([kind, handler]) => [
        kind,
        config.concurrency.get(kind) ?? handler.kind.concurrency,
      ]),
    )
    this.#registration = {
      id: workerId,
      role: 'worker',
      host: hostname(),
      pid: process.pid,
      version,
      kinds: Object.fromEntries([...handlers].map(([kind, handler]) => [kind, handler.kind.version])),
      slots: Object.fromEntries(slots),
    }
    const { leaseMs } = config
    this.#keeper = new LeaseKeeper({ db, workerId, leaseMs, clock, log })
    const base = { db, workerId, leaseMs, clock, log }
    const runner = new Runner({ ...base, keeper: this.#keeper, handlers, undoers, usePlatform })
    const follow = runner.follow.bind(runner)
    this.#listeners = new Listeners({ db, bell, slots, clock, log, follow })
    this.#keyWatch = keyWatch({ db, sealer, clock, log })
    this.#registry = new Loop({
      name: 'registry',
      intervalMs: Math.min(limits.heartbeatMs, leaseMs / 4),
      clock,
      log,
      failureCapMs: 1_000,
      runOnce: async () => {
        await this.#refreshSlots()
        await beatWorker(db, this.#registration, this.#draining ? 'draining' : 'active')
        return false
      },
    })
  }

  async start(): Promise<void> {
    const { bell, clock, db, log } = this.#options
    await prepareBell(bell, { log, clock, tries: Number.POSITIVE_INFINITY, signal: this.#stopping.signal })
    if (this.#draining) return
    await beatWorker(db, this.#registration, 'active')
    await warnOfPower(db, { role: 'worker', log })
    this.#registry.start()
    this.#keyWatch.start()
    this.#keeper.start()
    await this.#listeners.listen()
    this.#listeners.start()
    // A hint only; the keeper polls for cancels as well.
    await db.listen(cancelChannel, () => this.#keeper.wakeCancels())
    log.info({ worker: this.#registration.id, slots: this.#registration.slots }, 'worker started')
  }

  /** Takes over what a person has set since the last look. */
  async #refreshSlots(): Promise<void> {
    const { config, db } = this.#options
    const stored = new Map((await readSettingRows(db)).map((row) => [row.name, row.value]))
    const slots = slotsOf(Object.keys(this.#registration.slots), config, stored)
    if (isDeepStrictEqual(Object.fromEntries(slots), this.#registration.slots)) return
    this.#registration = { ...this.#registration, slots: Object.fromEntries(slots) }
    this.#listeners.setSlots(slots)
  }

  async readiness(): Promise<Readiness> {
    const reasons: string[] = []
    if (this.#draining) reasons.push('The worker drains and takes no more jobs.')
    await ping(this.#options.db).catch(() => reasons.push('Postgres cannot be reached.'))
    await this.#options.bell.check().catch((error: Error) => reasons.push(error.message))
    reasons.push(...(await keyReasons(this.#options.db, this.#options.sealer)))
    return { ready: reasons.length === 0, reasons }
  }

  /** Takes no more, waits for what runs, then asks it to let go; released jobs are charged nothing. */
  async stop(): Promise<void> {
    const { config, db, log } = this.#options
    this.#draining = true
    this.#stopping.abort()
    log.info({ running: this.#keeper.size }, 'worker drains')
    await this.#bounded(this.#listeners.quiet())
    await this.#bounded(beatWorker(db, this.#registration, 'draining'))
    for (const ctx of this.#keeper.contexts()) ctx.drain()
    await this.#emptied(config.drainMs)
    for (const ctx of this.#keeper.contexts())
      ctx.abort(new ReleaseRequest({ reason: 'worker-drains', detail: 'The drain took too long.' }))
    await this.#emptied(handBackMs)
    if (this.#keeper.size > 0)
      log.warn(
        { jobs: this.#keeper.size },
        'handlers did not stop in time; other workers continue their jobs when the leases expire',
      )
    await this.#bounded(Promise.all([this.#keeper.stop(), this.#registry.stop(), this.#keyWatch.stop()]))
    await this.#bounded(this.#listeners.stop())
    await this.#bounded(this.#platforms.close())
    await this.#bounded(stopWorker(db, this.#registration.id))
  }

  /** A farewell to a store that may be gone: done, failed or not answered, the stop goes on. */
  async #bounded(farewell: Promise<unknown>): Promise<void> {
    await Promise.race([farewell.catch(() => {}), this.#options.clock.sleep(handBackMs)])
  }

  async #emptied(withinMs: number): Promise<void> {
    const { clock } = this.#options
    const until = clock.monotonicMs() + withinMs
    while (this.#keeper.size > 0 && clock.monotonicMs() < until) await clock.sleep(20)
  }
}

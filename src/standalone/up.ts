import { openDb } from '../../db/client.ts'
import { migrateDb } from '../../db/migrate.ts'
import { ensureAdminToken } from '../api/tokens.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config.ts'
import { openBell, prepareBell } from '../ledger/bell.ts'
import { createLog } from '../log.ts'
import type { StopRequest } from '../stop-request.ts'
import { bannerLines } from './banner.ts'
import { chooseDataDir, ensureSecretKey } from './data-dir.ts'
import { type DataLock, lockDataDir } from './data-lock.ts'
import { Database } from './database.ts'
import { FleetOfRoles } from './fleet-of-roles.ts'
import { chooseLabHome, type LabHome } from './lab-home.ts'
import { showLabInventory } from './lab-inventory.ts'
import { ensureLocalToken } from './local-token.ts'
import { Terminal } from './terminal.ts'

export interface UpOptions {
  readonly config: Config
  readonly env: NodeJS.ProcessEnv
  readonly stop: StopRequest
}

/** Everything on one machine, until told to stop. Gives the exit code. */
export const runUp = async (options: UpOptions): Promise<number> => {
  const { config, env } = options
  const terminal = new Terminal()
  const dir = await chooseDataDir(config, { named: Boolean(env.DROVER_DATA_DIR) })
  const lock = lockDataDir(dir.path)
  const run = new Run({ ...options, terminal, dataDir: dir.path, lock })
  if (dir.note) terminal.line(dir.note)
  try {
    await run.serve()
  } finally {
    await run.end()
    lock.release()
  }
  return run.exitCode
}

/** One start to one stop. What was started is undone in the opposite order, whatever happens. */
class Run {
  readonly #options: UpOptions & { terminal: Terminal; dataDir: string; lock: DataLock }
  readonly #began = systemClock.monotonicMs()
  /** Each gives whether it ended without force. */
  readonly #undo: (() => Promise<boolean>)[] = []
  #lost: string | undefined
  #clean = true

  constructor(options: UpOptions & { terminal: Terminal; dataDir: string; lock: DataLock }) {
    this.#options = options
  }

  get exitCode(): number {
    if (this.#options.stop.forced) return 130
    return this.#clean && this.#lost === undefined ? 0 : 1
  }

  /** Starts everything, shows what there is, and then serves until somebody wants it to end. */
  async serve(): Promise<void> {
    const { config, stop, terminal } = this.#options
    const databaseUrl = await this.#startDatabase()
    if (stop.requested) return
    const tokens = await this.#prepareDatabase(databaseUrl)
    if (stop.requested) return
    const home = await this.#chooseLab()
    const fleet = this.#fleetOf(databaseUrl, home)
    const port = await Promise.race([fleet.start(), stop.whenRequested])
    if (port === undefined) return
    const address = `http://${urlHost(config.host)}:${port}`
    this.#options.lock.publish(address)
    this.#greet({ address, databaseUrl, token: tokens.first, lab: home !== undefined })
    if (home) {
      await showLabInventory({
        home,
        lab: fleet.lab,
        address,
        token: tokens.local,
        databaseUrl,
        workers: config.workers,
        terminal,
        signal: stop.signal,
      })
    }
    await stop.whenRequested
  }

  async end(): Promise<void> {
    if (this.#lost !== undefined) this.#say(`Cannot go on: ${this.#lost}`)
    if (this.#undo.length === 0) return
    this.#say('Stopping: workers finish or hand back what they do ...')
    for (const step of this.#undo.splice(0).reverse()) this.#clean = (await step()) && this.#clean
    const forced = this.#options.stop.forced || !this.#clean
    this.#say(
      forced ? 'Stopped by force. Jobs that were cut short run again.' : 'Stopped. Nothing is left running.',
    )
  }

  readonly #say = (text: string): void => this.#options.terminal.line(text)

  readonly #loseHope = (why: string): void => {
    this.#lost ??= why
    this.#options.stop.request()
  }

  async #startDatabase(): Promise<string> {
    const { config, dataDir, stop } = this.#options
    if (config.databaseUrl !== undefined) return config.databaseUrl
    const log = createLog({ role: 'up', level: 'warn' })
    const database = await Database.start({ dataDir, log, say: this.#say, onLost: this.#loseHope })
    this.#undo.push(async () => {
      await database.stop('fast')
      return true
    })
    stop.onSecond(() => void database.stop('immediate'))
    return database.url
  }

  /** All that roles would otherwise race for: the schema, the bell's own schema, the first tokens. */
  async #prepareDatabase(url: string): Promise<{ first: string | undefined; local: string }> {
    const { config, dataDir } = this.#options
    await migrateDb(url)
    await prepareBellStore(config, url)
    const db = openDb({ url, max: 1, applicationName: 'drover-up' })
    try {
      const { token } = await ensureAdminToken(db, config.adminToken)
      return { first: token, local: await ensureLocalToken(db, dataDir) }
    } finally {
      await db.end({ timeout: 5 })
    }
  }

  async #chooseLab(): Promise<LabHome | undefined> {
    const { config, dataDir, env } = this.#options
    if (!config.lab.wanted) return undefined
    return await chooseLabHome({ config, dataDir, portNamed: Boolean(env.DROVER_LAB_PORT) })
  }

  #fleetOf(databaseUrl: string, lab: LabHome | undefined): FleetOfRoles {
    const { config, env, dataDir, stop } = this.#options
    const fleet = new FleetOfRoles({
      dataDir,
      workers: config.workers,
      drainMs: config.drainMs,
      env: childEnvironment(env, config, { dataDir, databaseUrl }),
      lab,
      say: this.#say,
      onLost: this.#loseHope,
    })
    this.#undo.push(async () => !(await fleet.stop()).killed)
    stop.onSecond(() => fleet.killNow())
    return fleet
  }

  #greet(facts: { address: string; databaseUrl: string; token: string | undefined; lab: boolean }): void {
    const { config, dataDir } = this.#options
    const lines = bannerLines({
      ...facts,
      presetToken: config.adminToken !== undefined,
      dataDir,
      embedded: config.databaseUrl === undefined,
      redisUrl: config.redisUrl,
      workers: config.workers,
      supervisor: process.pid,
      startedMs: systemClock.monotonicMs() - this.#began,
    })
    for (const line of lines) this.#say(line)
  }
}

/** A bell store that is away stops nobody: work is accepted, and starts when it is back. */
const prepareBellStore = async (config: Config, databaseUrl: string): Promise<void> => {
  const log = createLog({ role: 'up', level: 'error' })
  const bell = await openBell(config, { databaseUrl, log })
  try {
    await prepareBell(bell, { log, clock: systemClock, tries: 1 })
  } finally {
    await bell.close()
  }
}

/** What the roles get: our environment with every choice made, and no secret that they do not need. */
const childEnvironment = (
  env: NodeJS.ProcessEnv,
  config: Config,
  chosen: { dataDir: string; databaseUrl: string },
): NodeJS.ProcessEnv => {
  const own = { ...env }
  const secrets = ['DATABASE_URL', 'REDIS_URL', 'DROVER_ADMIN_TOKEN', 'DROVER_SECRET_KEY']
  for (const name of [...secrets, 'DROVER_LAB_PASSWORD', 'DROVER_LAB_ADMIN_TOKEN']) {
    delete own[name]
    delete own[`${name}_FILE`]
  }
  return {
    ...own,
    DATABASE_URL: chosen.databaseUrl,
    ...(config.redisUrl === undefined ? {} : { REDIS_URL: config.redisUrl }),
    DROVER_SECRET_KEY: config.secretKey ?? ensureSecretKey(chosen.dataDir),
    DROVER_DATA_DIR: chosen.dataDir,
    // Several roles on one machine cannot share a port for their health.
    DROVER_HEALTH_PORT: '0',
  }
}

const urlHost = (host: string): string => {
  if (host === '0.0.0.0' || host === '::') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}

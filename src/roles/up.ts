import { join } from 'node:path'
import { openDb } from '../../db/client.ts'
import { ensureAdminToken, type PresetState, wayInAdvice } from '../api/access/tokens.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { type DatabaseUrls, oneLogin } from '../config/database-urls.ts'
import { fileSettings } from '../config/take-secrets.mjs'
import { openBell, prepareBell } from '../ledger/bell/bell.ts'
import { Terminal } from '../print/terminal.ts'
import { createLog } from '../process/log.ts'
import type { StopRequest } from '../process/stop-request.ts'
import { type BannerFacts, bannerLines } from '../standalone/banner.ts'
import { chooseDataDir } from '../standalone/data-dir.ts'
import { type DataLock, lockDataDir } from '../standalone/data-lock.ts'
import { chooseLabHome, type LabHome } from '../standalone/lab-home.ts'
import { keepLocalToken, startLocalToken } from '../standalone/local-token.ts'
import { Database } from '../standalone/postgres/database.ts'
import { prepareDatabase } from '../standalone/postgres/prepare-database.ts'
import { type KeyOptions, prepareKeys, secretKeyOf } from '../standalone/prepare-keys.ts'
import { chooseSocket } from '../standalone/socket-place.ts'
import { FleetOfRoles } from '../supervisor/fleet-of-roles.ts'
import { fleetClients } from '../tour/fleet-clients.ts'
import { showDown } from '../tour/show-down.ts'
import { showLab } from '../tour/tour.ts'

export interface UpOptions extends KeyOptions {
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
  #rolesStarted = false

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
    const urls = await this.#startDatabase()
    const databaseUrl = urls.owner
    if (stop.requested) return
    const tokens = await this.#prepareDatabase(databaseUrl)
    if (stop.requested) return
    const home = await this.#chooseLab()
    const socket = this.#chooseSocket()
    const fleet = this.#fleetOf({ urls, socket }, home)
    const port = await Promise.race([fleet.start(), stop.whenRequested])
    if (port === undefined) return
    const address = `http://${urlHost(config.host)}:${port}`
    this.#options.lock.publish({ address, socket })
    this.#keepLocalToken(databaseUrl)
    const presetToken = tokens.preset === 'stored' || tokens.preset === 'kept'
    this.#greet({ address, databaseUrl, token: tokens.first, presetToken, lab: home !== undefined })
    const clientFor = fleetClients(socket, stop.signal)
    await showDown(clientFor(tokens.local), terminal)
    if (home) {
      await showLab({
        home,
        lab: fleet.lab,
        address,
        clientFor,
        token: tokens.local,
        databaseUrl,
        workers: config.workers,
        imageDir: config.images.dir === undefined ? ownImageDir(this.#options.dataDir) : undefined,
        terminal,
        signal: stop.signal,
      })
    }
    await stop.whenRequested
  }

  async end(): Promise<void> {
    if (this.#lost !== undefined) this.#say(`Cannot go on: ${this.#lost}`)
    if (this.#undo.length === 0) return
    if (this.#rolesStarted) this.#say('Stopping: workers finish or hand back what they do ...')
    for (const step of this.#undo.splice(0).reverse()) this.#clean = (await step()) && this.#clean
    const forced = this.#options.stop.forced || !this.#clean
    if (!this.#rolesStarted) this.#say('Nothing is left running.')
    else if (forced) this.#say('Stopped by force. Jobs that were cut short run again.')
    else this.#say('Stopped. Nothing is left running.')
  }

  readonly #say = (text: string): void => this.#options.terminal.line(text)

  readonly #loseHope = (why: string): void => {
    this.#lost ??= why
    this.#options.stop.request()
  }

  async #startDatabase(): Promise<DatabaseUrls> {
    const { config, dataDir, stop } = this.#options
    if (config.databaseUrl !== undefined) return oneLogin(config.databaseUrl, config.roleUrls)
    const log = createLog({ role: 'up', level: 'warn' })
    const database = await Database.start({ dataDir, log, say: this.#say, onLost: this.#loseHope })
    this.#undo.push(async () => {
      await database.stop('fast')
      return true
    })
    stop.onSecond(() => void database.stop('immediate'))
    return database.urls
  }

  /** All that roles would otherwise race for: the schema, the bell's own schema, the first tokens. */
  async #prepareDatabase(
    url: string,
  ): Promise<{ first: string | undefined; preset: PresetState | undefined; local: string }> {
    const { config, dataDir } = this.#options
    await prepareDatabase(config, { url, say: this.#say })
    await prepareKeys({ ...this.#options, url, say: this.#say })
    if (config.redisUrl !== undefined) await prepareBellStore(config, url)
    const db = openDb({ url, max: 1, applicationName: 'drover-up' })
    try {
      const found = await ensureAdminToken(db, config.adminToken)
      for (const advice of wayInAdvice(found)) this.#say(advice)
      return { first: found.token, preset: found.preset, local: await startLocalToken(db, dataDir) }
    } finally {
      await db.end({ timeout: 5 })
    }
  }

  async #chooseLab(): Promise<LabHome | undefined> {
    const { config, dataDir, env } = this.#options
    if (!config.lab.wanted) return undefined
    return await chooseLabHome({ config, dataDir, portNamed: Boolean(env.DROVER_LAB_PORT) })
  }

  #chooseSocket(): string {
    const place = chooseSocket(this.#options.dataDir, this.#options.env)
    if (place.note) this.#say(place.note)
    this.#undo.push(async () => {
      place.release()
      return true
    })
    return place.path
  }

  #keepLocalToken(databaseUrl: string): void {
    const ending = new AbortController()
    const kept = keepLocalToken({
      databaseUrl,
      dataDir: this.#options.dataDir,
      clock: systemClock,
      signal: ending.signal,
      say: this.#say,
    })
    this.#undo.push(async () => {
      ending.abort()
      await kept
      return true
    })
  }

  #fleetOf(chosen: { urls: DatabaseUrls; socket: string }, lab: LabHome | undefined): FleetOfRoles {
    const { config, env, dataDir, stop } = this.#options
    const fleet = new FleetOfRoles({
      dataDir,
      workers: config.workers,
      drainMs: config.drainMs,
      env: childEnvironment(env, config, { dataDir, socket: chosen.socket }),
      urls: chosen.urls,
      lab,
      say: this.#say,
      onLost: this.#loseHope,
    })
    this.#rolesStarted = true
    this.#undo.push(async () => !(await fleet.stop()).killed)
    stop.onSecond(() => fleet.killNow())
    return fleet
  }

  #greet(facts: Pick<BannerFacts, 'address' | 'databaseUrl' | 'token' | 'presetToken' | 'lab'>): void {
    const { config, dataDir } = this.#options
    const lines = bannerLines({
      ...facts,
      address: config.front.publicUrl?.origin ?? facts.address,
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

/** What all roles get: our environment with every choice made, and no secret that one of them does not need. */
const childEnvironment = (
  env: NodeJS.ProcessEnv,
  config: Config,
  chosen: { dataDir: string; socket: string },
): NodeJS.ProcessEnv => {
  const own = { ...env }
  for (const name of [...fileSettings, 'DROVER_LAB_PASSWORD', 'DROVER_LAB_ADMIN_TOKEN']) {
    delete own[name]
    delete own[`${name}_FILE`]
  }
  // It may be set for another program. The embedded Postgres speaks no TLS: it is on loopback alone.
  if (config.databaseUrl === undefined) delete own.DATABASE_CA_FILE
  return {
    ...own,
    ...(config.redisUrl === undefined ? {} : { REDIS_URL: config.redisUrl }),
    DROVER_SECRET_KEY: secretKeyOf(config, chosen.dataDir),
    ...(config.oldSecretKeys.length === 0 ? {} : { DROVER_SECRET_KEYS_OLD: config.oldSecretKeys.join(',') }),
    DROVER_DATA_DIR: chosen.dataDir,
    DROVER_IMAGE_DIR: config.images.dir ?? ownImageDir(chosen.dataDir),
    DROVER_SOCKET: chosen.socket,
    // Several roles on one machine cannot share a port for their health.
    DROVER_HEALTH_PORT: '0',
  }
}

/** Where archives lie that are imported as files, unless a person has set another folder. */
const ownImageDir = (dataDir: string): string => join(dataDir, 'images')

const urlHost = (host: string): string => {
  if (host === '0.0.0.0' || host === '::') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}

import { openDb } from '../../db/client.ts'
import { migrateDb } from '../../db/migrate.ts'
import { ensureAdminToken } from '../api/tokens.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config.ts'
import { createLog } from '../log.ts'
import type { StopRequest } from '../stop-request.ts'
import { bannerLines } from './banner.ts'
import { chooseDataDir, ensureSecretKey } from './data-dir.ts'
import { lockDataDir } from './data-lock.ts'
import { Database } from './database.ts'
import { FleetOfRoles } from './fleet-of-roles.ts'
import { ensureLocalToken } from './local-token.ts'
import { runSelfTest } from './self-test-batch.ts'
import { Terminal } from './terminal.ts'

export interface UpOptions {
  readonly config: Config
  readonly env: NodeJS.ProcessEnv
  readonly stop: StopRequest
}

/** Everything on one machine, until told to stop. Gives the exit code. */
export const runUp = async (options: UpOptions): Promise<number> => {
  const { config, env, stop } = options
  const began = systemClock.monotonicMs()
  const terminal = new Terminal()
  const dir = await chooseDataDir(config, { named: Boolean(env.DROVER_DATA_DIR) })
  const lock = lockDataDir(dir.path)
  const undo: (() => Promise<boolean>)[] = []
  const lost = { why: undefined as string | undefined }
  const onLost = (why: string) => {
    lost.why ??= why
    stop.request()
  }
  const say = (text: string) => terminal.line(text)
  let clean = true
  try {
    if (dir.note) say(dir.note)
    const database = await openDatabase({ config, dataDir: dir.path, say, onLost, stop, undo })
    const tokens = stop.requested ? undefined : await prepareDatabase(database.url, config, dir.path)
    if (tokens) {
      const fleet = new FleetOfRoles({
        dataDir: dir.path,
        workers: config.workers,
        drainMs: config.drainMs,
        env: childEnvironment(env, config, { dataDir: dir.path, databaseUrl: database.url }),
        say,
        onLost,
      })
      undo.push(async () => !(await fleet.stop()).killed)
      stop.onSecond(() => fleet.killNow())
      const port = await Promise.race([fleet.start(), stop.whenRequested])
      if (port !== undefined) {
        const address = `http://${urlHost(config.host)}:${port}`
        lock.publish(address)
        const startedMs = systemClock.monotonicMs() - began
        for (const line of bannerLines({
          address,
          token: tokens.first,
          presetToken: config.adminToken !== undefined,
          dataDir: dir.path,
          embedded: database.embedded,
          databaseUrl: database.url,
          redisUrl: config.redisUrl,
          workers: config.workers,
          supervisor: process.pid,
          startedMs,
        })) {
          say(line)
        }
        if (env.DROVER_SELF_TEST !== '0' && config.workers > 0) {
          await runSelfTest({ address, token: tokens.local, terminal, signal: stop.signal })
        }
        await stop.whenRequested
      }
    }
  } finally {
    if (lost.why !== undefined) say(`Cannot go on: ${lost.why}`)
    if (undo.length > 0) say('Stopping: workers finish or hand back what they do ...')
    for (const step of undo.reverse()) clean = (await step()) && clean
    lock.release()
  }
  say(clean ? 'Stopped. Nothing is left running.' : 'Stopped, not cleanly: something had to be killed.')
  return clean && lost.why === undefined ? 0 : 1
}

interface OpenDatabaseOptions {
  readonly config: Config
  readonly dataDir: string
  readonly say: (text: string) => void
  readonly onLost: (why: string) => void
  readonly stop: StopRequest
  readonly undo: (() => Promise<boolean>)[]
}

const openDatabase = async (options: OpenDatabaseOptions): Promise<{ url: string; embedded: boolean }> => {
  const { config, dataDir, say, onLost, stop, undo } = options
  if (config.databaseUrl !== undefined) return { url: config.databaseUrl, embedded: false }
  const log = createLog({ role: 'up', level: 'warn' })
  const database = await Database.start({ dataDir, log, say, onLost })
  undo.push(async () => {
    await database.stop('fast')
    return true
  })
  stop.onSecond(() => void database.stop('immediate'))
  return { url: database.url, embedded: true }
}

/** Brings the schema up to date and makes the tokens that must be there before the API listens. */
const prepareDatabase = async (url: string, config: Config, dataDir: string) => {
  await migrateDb(url)
  const db = openDb({ url, max: 1, applicationName: 'drover-up' })
  try {
    const { token } = await ensureAdminToken(db, config.adminToken)
    return { first: token, local: await ensureLocalToken(db, dataDir) }
  } finally {
    await db.end({ timeout: 5 })
  }
}

/** What the roles get: our environment with every choice made, and no secret that they do not need. */
const childEnvironment = (
  env: NodeJS.ProcessEnv,
  config: Config,
  chosen: { dataDir: string; databaseUrl: string },
): NodeJS.ProcessEnv => {
  const own = { ...env }
  for (const name of ['DATABASE_URL', 'REDIS_URL', 'DROVER_ADMIN_TOKEN', 'DROVER_SECRET_KEY']) {
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

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { openDb } from '../../../db/client.ts'
import { ensureDatabase } from '../../../db/queries/server/ensure-database.ts'
import { systemClock } from '../../clock.ts'
import type { DatabaseUrls } from '../../config/database-urls.ts'
import { DroverError } from '../../errors.ts'
import type { Logger } from '../../process/log.ts'
import { findUnprivilegedUser, type OsUser } from '../unprivileged-user.ts'
import { withoutCore } from '../without-core.ts'
import { cutIfTooBig, openBoundedLog } from './bounded-file.ts'
import { ensureClusterLogins } from './cluster-logins.ts'
import { usableBinaries } from './postgres-binaries.ts'
import {
  clearLeftovers,
  clusterOwner,
  clusterPassword,
  clusterUser,
  endProcess,
  ensureCluster,
  postgresEnvironment,
  prepareDataDir,
} from './postgres-cluster.ts'

export interface EmbeddedPostgresOptions {
  /** The cluster, its log and its password live in here. One server per directory: the caller locks it. */
  readonly dataDir: string
  readonly log: Logger
  /** Server settings over our own. */
  readonly settings?: Readonly<Record<string, string | number>>
  /** Taken when it is free, so that a restarted server keeps its address. */
  readonly port?: number
}

/** `fast` ends sessions and writes a checkpoint; `immediate` leaves recovery to the next start. */
export type StopMode = 'fast' | 'immediate'

export interface EmbeddedPostgres {
  /** Points at the database `drover` and carries the password of the cluster's superuser: no role gets it. */
  readonly url: string
  /** How the owner of that database and each role signs in. */
  readonly urls: DatabaseUrls
  readonly port: number
  readonly pid: number
  readonly logFile: string
  /** Resolves when the server has ended, asked to or not. */
  readonly ended: Promise<void>
  stop(mode?: StopMode): Promise<void>
}

const logMaxBytes = 8 * 1024 * 1024
const startAttempts = 5
const readyMs = 60_000
/** Replaying the log after a crash may take minutes; as long as the server says so, it is not stuck. */
const recoveryMs = 15 * 60_000

const ownSettings: Readonly<Record<string, string | number>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: 200,
  shared_buffers: '256MB',
  // What Drover says was committed is on the disk.
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  // Room for bulk enqueues between checkpoints; a crash then replays at most this much.
  max_wal_size: '2GB',
  min_wal_size: '256MB',
  wal_buffers: '16MB',
  checkpoint_timeout: '10min',
  checkpoint_completion_target: 0.9,
  // The ledger's statements are short: compiling them costs more than running them.
  jit: 'off',
  random_page_cost: 1.1,
  // The job table turns over all its rows; dead ones must not pile up between vacuums.
  autovacuum_naptime: '10s',
  log_min_messages: 'warning',
  log_checkpoints: 'off',
  log_line_prefix: '%m [%p] %a ',
  log_timezone: 'UTC',
  timezone: 'UTC',
}

/** Starts the Postgres that came with npm. Resolves when it answers to a real connection. */
export const startEmbeddedPostgres = async (options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> => {
  const { dataDir, log } = options
  const user = await findUnprivilegedUser(await clusterOwner(dataDir))
  await prepareDataDir(dataDir, user)
  const binaries = await usableBinaries({ user, cacheDir: join(dataDir, 'postgres-programs') })
  const password = clusterPassword(dataDir)
  const cluster = await ensureCluster({ dataDir, binDir: binaries.dir, user, password })
  await clearLeftovers(cluster, log)
  const logFile = join(dataDir, 'postgres.log')
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort(attempt === 1 ? wantedPort(options) : undefined)
    const logStart = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0
    const server = launch({
      binDir: binaries.dir,
      cluster,
      user,
      logFile,
      port,
      settings: options.settings ?? {},
    })
    const url = `postgres://${clusterUser}:${password}@127.0.0.1:${port}`
    const problem = await waitUntilReady(server, url)
    if (!problem) {
      log.debug({ port, postmaster: server.pid, version: binaries.version }, 'embedded Postgres is up')
      const urls = await ensureClusterLogins(dataDir, `${url}/drover`).catch(async (error: unknown) => {
        await endProcess(server.pid)
        throw error
      })
      return running({ server, port, url: `${url}/drover`, urls, logFile })
    }
    if (attempt >= startAttempts) throw notStarted(problem, logFile, logStart)
    // Another program may have taken the port, or backends of a killed server are still on their way out.
    log.debug({ attempt, problem }, 'embedded Postgres did not start; trying again')
    await systemClock.sleep(200 * attempt)
  }
}

interface Server {
  readonly child: ChildProcess
  readonly pid: number
  readonly descriptor: number
  readonly ended: Promise<void>
  failure: string | undefined
}

const launch = (options: {
  binDir: string
  cluster: string
  user: OsUser | undefined
  logFile: string
  port: number
  settings: Readonly<Record<string, string | number>>
}): Server => {
  const { user } = options
  const descriptor = openBoundedLog(options.logFile, logMaxBytes)
  const settings = { ...ownSettings, ...options.settings, port: options.port }
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const [command, args] = withoutCore(join(options.binDir, 'postgres'), ['-D', options.cluster, ...flags])
  const child = spawn(command, args, {
    cwd: options.cluster,
    env: postgresEnvironment(),
    stdio: ['ignore', descriptor, descriptor],
    // A session of its own: Ctrl-C in our terminal must reach it only after the workers have drained.
    detached: true,
    ...(user ? { uid: user.uid, gid: user.gid } : {}),
  })
  const server: Server = {
    child,
    pid: child.pid ?? 0,
    descriptor,
    failure: undefined,
    ended: new Promise((resolve) => {
      child.once('error', (error) => {
        server.failure = error.message
        resolve()
      })
      child.once('exit', (code, signal) => {
        server.failure = `it ended with ${signal ?? `exit code ${code}`}`
        resolve()
      })
    }),
  }
  void server.ended.then(() => closeSync(descriptor))
  return server
}

/** Undefined when the server takes connections and holds our database; else what was wrong. */
const waitUntilReady = async (server: Server, url: string): Promise<string | undefined> => {
  const began = systemClock.monotonicMs()
  let waitLimitMs = readyMs
  let last = 'it did not answer'
  while (server.failure === undefined && systemClock.monotonicMs() - began < waitLimitMs) {
    const db = openDb({
      url: `${url}/postgres`,
      max: 1,
      applicationName: 'drover-standalone',
      connectMs: 5_000,
    })
    try {
      await ensureDatabase(db, 'drover')
      return server.failure
    } catch (error) {
      last = (error as Error).message
      if ((error as { code?: string }).code === '57P03') waitLimitMs = recoveryMs
    } finally {
      await db.end({ timeout: 1 })
    }
    await systemClock.sleep(15)
  }
  const failure = server.failure ?? `${last} (for ${waitLimitMs} ms)`
  if (server.failure === undefined) await endProcess(server.pid)
  return failure
}

const running = (facts: {
  server: Server
  port: number
  url: string
  urls: DatabaseUrls
  logFile: string
}): EmbeddedPostgres => {
  const { server, port, url, urls, logFile } = facts
  const trim = setInterval(() => cutIfTooBig(logFile, server.descriptor, logMaxBytes), 30_000).unref()
  void server.ended.then(() => clearInterval(trim))
  return {
    url,
    urls,
    port,
    pid: server.pid,
    logFile,
    ended: server.ended,
    stop: async (mode = 'fast') => {
      if (server.failure !== undefined) return
      const ladder = [
        ['SIGINT', 15_000],
        ['SIGQUIT', 5_000],
        ['SIGKILL', 5_000],
      ] as const
      await endProcess(server.pid, mode === 'fast' ? ladder : ladder.slice(1))
      await server.ended
    },
  }
}

const wantedPort = (options: EmbeddedPostgresOptions): number | undefined =>
  options.port ?? (options.settings?.port === undefined ? undefined : Number(options.settings.port))

/** Free a moment ago, which is the best anybody can say: the caller tries again when it was taken since. */
const freePort = async (wanted: number | undefined): Promise<number> => {
  const probe = createServer()
  try {
    probe.listen(wanted ?? 0, '127.0.0.1')
    await once(probe, 'listening')
    const address = probe.address()
    if (address === null || typeof address === 'string') throw new Error('A TCP server has no port.')
    return address.port
  } catch (error) {
    if (wanted === undefined) throw error
    return await freePort(undefined)
  } finally {
    probe.close()
  }
}

const notStarted = (problem: string, logFile: string, from: number): DroverError => {
  const said = readTail(logFile, from)
  return new DroverError({
    code: 'embedded-postgres-not-started',
    class: 'environment',
    message: `The embedded Postgres did not start: ${problem}.${said === '' ? '' : ` It says: ${said}`}`,
    remedy: `Look into ${logFile}; set DATABASE_URL to use another Postgres.`,
    detail: { log_file: logFile },
  })
}

/** The last complaint that the server wrote since it was started. */
const readTail = (path: string, from: number): string => {
  const descriptor = openSync(path, 'r')
  try {
    const buffer = Buffer.alloc(16 * 1024)
    const length = readSync(descriptor, buffer, 0, buffer.length, from)
    const lines = buffer.toString('utf8', 0, length).split('\n')
    return (
      lines
        .filter((line) => /(FATAL|PANIC|ERROR|HINT):/.test(line))
        .at(-1)
        ?.trim() ?? ''
    )
  } finally {
    closeSync(descriptor)
  }
}

import { chown, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import postgres from 'postgres'
import { inject } from 'vitest'
import { type Db, type DbTypes, openDb } from '../../db/client.ts'
import { createLog } from '../../src/process/log.ts'
import { clusterLogins } from '../../src/standalone/postgres/cluster-logins.ts'
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/standalone/postgres/embedded-postgres.ts'
import { findUnprivilegedUser } from '../../src/standalone/unprivileged-user.ts'
import { forgetChild, noteChild } from './children.ts'
import { atEnd } from './cleanup.ts'
import { fixLogins } from './logins.ts'
import { databaseUrl, migrateAsOwner, overSocket } from './shared-postgres.ts'
import { freePort, makeTempDir } from './temp.ts'
import { until } from './wait.ts'

export interface TestDatabase {
  readonly name: string
  readonly url: string
  /** The same over the server's Unix socket. */
  readonly socketUrl: string
  /** A pool for the test itself, closed at the end; its connections are no leak. */
  readonly db: Db
}

/** On a machine with much to do a connection, or a statement, may take longer than is right in production. */
const patience = { connectMs: 60_000, statementMs: 60_000 }

/**
 * A fresh database: migrated, as a copy of the run's template, or empty. Call it at the top of a file
 * (`const database = await createDatabase()`) or inside a test. It is dropped at the end; a connection that
 * somebody left open by then fails the file or test.
 */
export const createDatabase = async ({ migrated = true } = {}): Promise<TestDatabase> => {
  const name = `t_${process.pid}_${Math.random().toString(36).slice(2, 10)}`
  const server = inject('postgresUrl')
  const admin = postgres(server, { max: 1, onnotice: () => {} })
  const template = migrated ? inject('postgresTemplate') : 'template0'
  await admin`
    create database ${admin(name)} template ${admin(template)} owner ${admin(clusterLogins.owner)}
    strategy file_copy`
  const url = databaseUrl(server, name)
  const socketUrl = overSocket(url, inject('postgresSocket'))
  const db = openDb({ url: socketUrl, max: 6, applicationName: 'drover-test', ...patience })
  atEnd(async () => {
    await db.end({ timeout: 5 })
    const leaks = await leftConnections(admin, name)
    await admin`drop database if exists ${admin(name)} with (force)`
    await admin.end({ timeout: 5 })
    if (leaks.length > 0) throw new Error(`Connections were left open:\n${leaks.join('\n')}`)
  })
  return { name, url, socketUrl, db }
}

/** Who is still connected after a moment for sockets that are just closing. */
const leftConnections = async (admin: postgres.Sql, database: string): Promise<string[]> => {
  const look = async () => {
    const rows = await admin<{ pid: number; name: string; state: string; query: string }[]>`
      select pid, application_name as name, coalesce(state, '') as state, left(query, 120) as query
      from pg_stat_activity where datname = ${database} and backend_type = 'client backend'`
    return rows.map((row) => `pid ${row.pid} "${row.name}" ${row.state}: ${row.query}`)
  }
  return until(async () => (await look()).length === 0, {
    what: 'connections to close',
    withinMs: 15_000,
  }).then(() => [], look)
}

/** A connection of its own. The driver hands out only those that are open: on an empty pool it would wait for ever. */
export const reserveConnection = async (db: Db): Promise<postgres.ReservedSql<DbTypes>> => {
  await db`select 1`
  return db.reserve()
}

/** A Postgres server that a test may break. Its port and data stay the same over every stop and start. */
export interface OwnPostgres {
  /** A migrated database of this server. */
  readonly url: string
  readonly port: number
  readonly pid: number
  /** Ends connections and stops cleanly. */
  stop(): Promise<void>
  /** kill -9 of the postmaster; its children notice and go. */
  kill(): Promise<void>
  start(): Promise<void>
  restart(): Promise<void>
}

/** The server refuses a key that others can read, and may be another user than we are. */
const tlsSettings = async (own: { readonly key: string; readonly cert: string }) => {
  const dir = await makeTempDir('postgres-tls')
  atEnd(() => rm(dir, { recursive: true, force: true }))
  const [key, cert] = [join(dir, 'server.key'), join(dir, 'server.crt')]
  await writeFile(key, own.key, { mode: 0o600 })
  await writeFile(cert, own.cert)
  const user = await findUnprivilegedUser()
  if (user) for (const path of [dir, key]) await chown(path, user.uid, user.gid)
  return { ssl: 'on', ssl_key_file: key, ssl_cert_file: cert }
}

/** Starts a server of the test's own, with durability on unless `settings` say otherwise. */
export const startOwnPostgres = async (
  options: {
    settings?: Record<string, string>
    migrate?: boolean
    /** It takes TLS too, with this certificate. */
    tls?: { readonly key: string; readonly cert: string }
  } = {},
): Promise<OwnPostgres> => {
  const dir = await makeTempDir('own-postgres')
  await fixLogins(dir)
  const tls = options.tls ? await tlsSettings(options.tls) : {}
  const run = inject('run')
  const launch = async (port: number): Promise<EmbeddedPostgres> => {
    const server = await startEmbeddedPostgres({
      dataDir: dir,
      log: createLog({ role: 'test-postgres', level: 'error' }),
      settings: { shared_buffers: '64MB', ...tls, ...options.settings },
      port,
    })
    noteChild(run, server.pid, 'postgres')
    void server.ended.then(() => forgetChild(run, server.pid))
    return server
  }
  let server = await launch(await freePort())
  atEnd(async () => {
    await server.stop('immediate')
    await rm(dir, { recursive: true, force: true })
  })
  const { port, url } = server
  const start = async () => {
    server = await launch(port)
    if (server.port !== port) throw new Error(`Somebody took port ${port} while the server was down.`)
  }
  const stop = async () => await server.stop('fast')
  if (options.migrate !== false) await migrateAsOwner(url)
  return {
    url,
    port,
    get pid() {
      return server.pid
    },
    stop,
    kill: async () => {
      process.kill(server.pid, 'SIGKILL')
      await server.ended
    },
    start,
    restart: async () => {
      await stop()
      await start()
    },
  }
}

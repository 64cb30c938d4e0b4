import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import postgres from 'postgres'
import { createLog } from '../../src/process/log.ts'
import { clusterLogins } from '../../src/standalone/postgres/cluster-logins.ts'
import { startEmbeddedPostgres } from '../../src/standalone/postgres/embedded-postgres.ts'
import { prepareDatabase } from '../../src/standalone/postgres/prepare-database.ts'
import { forgetChild, noteChild } from './children.ts'
import { fixLogins, loginUrl } from './logins.ts'
import { makeTempDir } from './temp.ts'

/** Safe to lose: the data lives as long as the run. Nothing waits for the disk, so tests wait for nothing. */
export const carelessSettings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '500',
  shared_buffers: '128MB',
  max_wal_size: '4GB',
  autovacuum_naptime: '1h',
}

export interface SharedPostgres {
  readonly url: string
  /** Where it has its Unix socket. */
  readonly socketDir: string
  readonly template: string
  stop(): Promise<void>
}

const template = 'drover_template'

export const databaseUrl = (server: string, database: string): string => {
  const url = new URL(server)
  url.pathname = `/${database}`
  return url.href
}

/** Over the server's Unix socket: a statement costs a third less than over TCP. */
export const overSocket = (url: string, socketDir: string): string => {
  const own = new URL(url)
  own.searchParams.set('host', socketDir)
  return own.href
}

/** The schema, the bell's store and who may do what, made as in production: by the owner, who is no superuser. */
export const migrateAsOwner = async (url: string): Promise<void> => {
  const say = (text: string) => process.stderr.write(`${text}\n`)
  await prepareDatabase({ setupDatabaseUrl: undefined, roleUrls: {} }, { url: loginUrl(url, 'owner'), say })
}

/** Starts the run's server and migrates the database that `createDatabase` copies. */
export const startSharedPostgres = async (run: string): Promise<SharedPostgres> => {
  const dir = await makeTempDir('postgres')
  await fixLogins(dir)
  // The folder of the server's own user.
  const socketDir = join(dir, 'postgres')
  const server = await startEmbeddedPostgres({
    dataDir: dir,
    log: createLog({ role: 'test-postgres', level: 'warn' }),
    settings: { ...carelessSettings, unix_socket_directories: socketDir },
  })
  noteChild(run, server.pid, 'postgres')
  const stop = async () => {
    await server.stop('immediate')
    forgetChild(run, server.pid)
    await rm(dir, { recursive: true, force: true })
  }
  try {
    const url = databaseUrl(server.url, 'postgres')
    const admin = postgres(url, { max: 1, onnotice: () => {} })
    await admin`create database ${admin(template)} owner ${admin(clusterLogins.owner)}`
    await migrateAsOwner(databaseUrl(url, template))
    // Nobody may connect to it any more: a connection would block every copy.
    await admin`alter database ${admin(template)} with is_template true allow_connections false`
    await admin.end()
    return { url, socketDir, template, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

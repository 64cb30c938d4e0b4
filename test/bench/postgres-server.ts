import { execFileSync } from 'node:child_process'
import { chmod, chown, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { usableBinaries } from '../../src/standalone/postgres/postgres-binaries.ts'
import { findUnprivilegedUser } from '../../src/standalone/unprivileged-user.ts'
import { until } from '../support/wait.ts'
import { freePort } from './free-port.ts'
import { startProcess } from './processes.ts'
import { onClose } from './resources.ts'

/** Durable, as in production; the rest is what an operator gives a server of this size. */
const settings = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  shared_buffers: '512MB',
  max_wal_size: '8GB',
  checkpoint_timeout: '15min',
  max_connections: '200',
  maintenance_work_mem: '512MB',
  // The benchmark vacuums and analyses by itself, at the same point for everybody.
  autovacuum: 'off',
  // A fixed port on loopback only; no socket file, so no path that could be too long.
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
} as const

export interface PostgresServer {
  readonly pid: number
  readonly version: string
  readonly settings: Readonly<Record<string, string>>
  /** Superuser statements outside any contender's database. */
  readonly admin: postgres.Sql
  url(database: string): string
  createDatabase(name: string, template?: string): Promise<string>
  dropDatabase(name: string): Promise<void>
}

/** Starts a private server in a temporary directory; it and its data go away at the end. */
export const startPostgres = async (options: {
  readonly statements: boolean
  /** A run of many minutes lives as it does in production: tables grow, statistics follow. */
  readonly autovacuum?: boolean
}): Promise<PostgresServer> => {
  const user = await findUnprivilegedUser()
  const dir = await mkdtemp(join(tmpdir(), 'drover-bench-postgres-'))
  await chmod(dir, 0o755)
  onClose(() => rm(dir, { recursive: true, force: true }))
  const binaries = await usableBinaries({ user, cacheDir: join(dir, 'programs') })
  const owner = user ? { uid: user.uid, gid: user.gid } : {}
  const data = join(dir, 'data')
  await mkdir(data, { mode: 0o700 })
  if (user) await chown(data, user.uid, user.gid)
  execFileSync(
    join(binaries.dir, 'initdb'),
    ['-D', data, '-U', 'bench', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'],
    { ...owner, cwd: dir, stdio: 'pipe' },
  )
  const port = await freePort()
  const preload = options.statements ? { shared_preload_libraries: 'pg_stat_statements' } : {}
  const vacuum = options.autovacuum ? { autovacuum: 'on', autovacuum_naptime: '10s' } : {}
  const chosen = { ...settings, ...vacuum }
  const all = { ...chosen, ...preload, port: String(port) }
  const server = startProcess({
    title: 'postgres',
    command: join(binaries.dir, 'postgres'),
    args: ['-D', data, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    spawn: { ...owner, cwd: dir },
    stopSignal: 'SIGINT',
  })
  const url = (database: string) => `postgres://bench@127.0.0.1:${port}/${database}`
  const admin = postgres(url('postgres'), { max: 1, onnotice: () => {} })
  onClose(() => admin.end({ timeout: 1 }))
  const version = await until(() => serverVersion(admin), {
    what: `Postgres to answer\n${server.output()}`,
    withinMs: 30_000,
  })
  if (options.statements) await admin`create extension pg_stat_statements`
  return {
    pid: server.pid,
    version,
    settings: chosen,
    admin,
    url,
    createDatabase: async (name, template = 'template0') => {
      await admin`create database ${admin(name)} template ${admin(template)}`
      return url(name)
    },
    dropDatabase: async (name) => {
      await admin`drop database if exists ${admin(name)} with (force)`
    },
  }
}

const serverVersion = async (sql: postgres.Sql): Promise<string | undefined> => {
  const [row] = await sql<{ version: string }[]>`select current_setting('server_version') as version`
  return row?.version
}

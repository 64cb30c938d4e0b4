import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import postgres from 'postgres'
import { expect, test } from 'vitest'
import { createLog } from '../../../src/process/log.ts'
import { startEmbeddedPostgres } from '../../../src/standalone/postgres/embedded-postgres.ts'
import { hydrateEmbeddedPostgres } from '../../../src/standalone/postgres/postgres-binaries.ts'
import { identify } from '../../../src/standalone/process-identity.ts'
import { firstClosedParent, runningAsRoot } from '../../../src/standalone/unprivileged-user.ts'
import { atEnd } from '../../support/cleanup.ts'
import { endProcessesOf } from '../../support/owned-processes.ts'
import { freePort, tempDir } from '../../support/temp.ts'
import { settles, until } from '../../support/wait.ts'

const log = createLog({ role: 'test', level: 'silent' })

const freshDir = async (): Promise<string> => {
  const dir = join(await tempDir('embedded'), 'data')
  endProcessesOf(dir)
  return dir
}

const start = async (dataDir: string, port?: number) => {
  const server = await startEmbeddedPostgres({ dataDir, log, ...(port === undefined ? {} : { port }) })
  atEnd(() => server.stop('immediate'))
  return server
}

const query = async <Row>(url: string, text: string): Promise<Row[]> => {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    return (await sql.unsafe(text)) as unknown as Row[]
  } finally {
    await sql.end()
  }
}

test('a fresh directory becomes a durable server that only this machine can reach, with a password', async () => {
  const dataDir = await freshDir()
  const server = await start(dataDir)
  const [facts] = await query(
    server.url,
    `select current_setting('listen_addresses') as listen, current_setting('fsync') as fsync,
      current_setting('synchronous_commit') as commit, current_setting('data_checksums') as checksums,
      current_setting('unix_socket_directories') as sockets, current_database() as db`,
  )
  expect(facts).toEqual({
    listen: '127.0.0.1',
    fsync: 'on',
    commit: 'on',
    checksums: 'on',
    sockets: '',
    db: 'drover',
  })
  const wrong = server.url.replace(/:[0-9a-f]+@/, ':wrong@')
  await expect(query(wrong, 'select 1')).rejects.toThrow(/password authentication failed/)
  expect(statSync(join(dataDir, 'postgres.password')).mode & 0o777).toBe(0o600)
  await server.stop()
  expect(identify(server.pid)).toBeUndefined()
})

test('what was committed survives kill -9 of the server', async () => {
  const dataDir = await freshDir()
  // Not one that the system gives to outgoing connections: while the server is down, anybody's would take it.
  const first = await start(dataDir, await freePort())
  await query(first.url, 'create table kept (n int); insert into kept values (7)')
  process.kill(first.pid, 'SIGKILL')
  await settles(first.ended, { what: 'the end of the killed server' })
  const second = await start(dataDir, first.port)
  expect(await query(second.url, 'select n from kept')).toEqual([{ n: 7 }])
  expect(second.url).toBe(first.url)
})

test('a server that outlived its supervisor is stopped by its pid before the next one starts', async () => {
  const dataDir = await freshDir()
  const orphan = await start(dataDir)
  await query(orphan.url, 'create table kept (n int); insert into kept values (7)')
  const next = await start(dataDir)
  expect(identify(orphan.pid)).toBeUndefined()
  expect(next.pid).not.toBe(orphan.pid)
  expect(await query(next.url, 'select n from kept')).toEqual([{ n: 7 }])
})

test('a pid file whose number belongs to another program now does not keep the server down', async () => {
  const dataDir = await freshDir()
  const first = await start(dataDir)
  const pidFile = join(dataDir, 'postgres', 'postmaster.pid')
  process.kill(first.pid, 'SIGKILL')
  await settles(first.ended, { what: 'the end of the killed server' })
  // Our parent lives, and is no Postgres.
  writeFileSync(pidFile, readFileSync(pidFile, 'utf8').replace(/^.*/, String(process.ppid)))
  const second = await start(dataDir)
  expect(await query(second.url, 'select 1 as one')).toEqual([{ one: 1 }])
  expect(identify(process.ppid)).toBeDefined()
})

test('a port that is taken is left alone, and another one is used', async () => {
  const other = createServer()
  await new Promise<void>((resolve) => {
    other.listen(0, '127.0.0.1', resolve)
  })
  atEnd(() => other.close())
  const { port } = other.address() as { port: number }
  const server = await start(await freshDir(), port)
  expect(server.port).not.toBe(port)
  expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }])
})

test('an initdb that was cut short is begun anew', async () => {
  const dataDir = await freshDir()
  await mkdir(join(dataDir, 'postgres.init', 'data'), { recursive: true })
  writeFileSync(join(dataDir, 'postgres.init', 'data', 'PG_VERSION'), '18\n')
  const server = await start(dataDir)
  expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }])
})

test('two at once make the links of the package, and neither fails', async () => {
  const found = await Promise.all([1, 2, 3].map(() => hydrateEmbeddedPostgres()))
  expect(new Set(found.map((one) => one.dir)).size).toBe(1)
})

test('a start that cannot work says what the server said', async () => {
  const dataDir = await freshDir()
  const broken = startEmbeddedPostgres({ dataDir, log, settings: { shared_buffers: 'a lot' } })
  await expect(broken).rejects.toMatchObject({
    code: 'embedded-postgres-not-started',
    message: expect.stringContaining('shared_buffers'),
  })
  await until(() => statSync(join(dataDir, 'postgres.log')).size > 0, { what: 'a log' })
})

test('a directory that the user of Postgres may not reach is refused by name, and no parent is opened', async (t) => {
  const closed = await tempDir('closed')
  chmodSync(closed, 0o700)
  const user = { name: 'nobody', uid: 65_534, gid: 65_534 }
  expect(await firstClosedParent(join(closed, 'a', 'b'), user)).toBe(closed)
  expect(
    await firstClosedParent(join(closed, 'a'), { ...user, uid: process.getuid?.() ?? 0 }),
  ).toBeUndefined()
  if (!runningAsRoot()) return t.annotate('Only root runs Postgres as another user.')
  await expect(startEmbeddedPostgres({ dataDir: join(closed, 'data'), log })).rejects.toMatchObject({
    class: 'config',
    field: 'DROVER_DATA_DIR',
    message: expect.stringContaining(closed),
  })
  expect(statSync(closed).mode & 0o777).toBe(0o700)
})

import { readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'
import { expect, test } from 'vitest'
import { openDb } from '../../../db/client.ts'
import { migrateDb } from '../../../db/migrate/migrate.ts'
import { groupOf, runningRoles } from '../../../db/privileges.ts'
import { loginIn, loginRoles } from '../../../src/config/database-urls.ts'
import { migrateLab } from '../../../src/lab/store/migrate.ts'
import { createLog } from '../../../src/process/log.ts'
import { clusterLogins } from '../../../src/standalone/postgres/cluster-logins.ts'
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../../src/standalone/postgres/embedded-postgres.ts'
import { prepareDatabase } from '../../../src/standalone/postgres/prepare-database.ts'
import { atEnd } from '../../support/cleanup.ts'
import { endProcessesOf } from '../../support/owned-processes.ts'
import { tempDir } from '../../support/temp.ts'

const log = createLog({ role: 'test', level: 'silent' })
const noSetup = { setupDatabaseUrl: undefined, roleUrls: {} }

const freshDir = async (): Promise<string> => {
  const dir = join(await tempDir('logins'), 'data')
  endProcessesOf(dir)
  return dir
}

const start = async (dataDir: string): Promise<EmbeddedPostgres> => {
  const server = await startEmbeddedPostgres({ dataDir, log })
  atEnd(() => server.stop('immediate'))
  return server
}

const query = async (url: string, text: string): Promise<Record<string, unknown>[]> => {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    return [...(await sql.unsafe(text))]
  } finally {
    await sql.end()
  }
}

/** What of ours belongs to the superuser. */
const superusersOwn = (url: string) =>
  query(
    url,
    `select n.nspname || '.' || c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     join pg_roles r on r.oid = c.relowner where r.rolsuper
       and n.nspname in ('public', 'self_test', 'drizzle', 'bullmq', 'lab') and c.relkind in ('r', 'S')
     union all select proname from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     join pg_roles r on r.oid = p.proowner where r.rolsuper and n.nspname in ('public', 'bullmq')
     union all select nspname from pg_namespace n join pg_roles r on r.oid = n.nspowner
     where r.rolsuper and nspname in ('self_test', 'drizzle', 'bullmq', 'lab')
     union all select datname from pg_database d join pg_roles r on r.oid = d.datdba
     where r.rolsuper and datname = 'drover'`,
  )

test('each role has a login of its own with a random password in a file that only we can read', async () => {
  const dataDir = await freshDir()
  const { urls, url } = await start(dataDir)
  const passwords = Object.values(urls).map((one) => loginIn(one).password)
  expect(new Set([...passwords, loginIn(url).password]).size).toBe(6)
  for (const who of ['owner', ...loginRoles] as const) {
    const file = join(dataDir, `postgres-${who}.password`)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readFileSync(file, 'utf8').trim()).toBe(loginIn(urls[who]).password)
    const [me] = await query(urls[who], 'select rolsuper from pg_roles where rolname = current_user')
    expect(me).toEqual({ rolsuper: false })
  }
  await prepareDatabase(noSetup, { url: urls.owner, say: (text) => expect(text).toBe('') })
  expect(await superusersOwn(url)).toEqual([])
})

/** Makes the cluster what the version before left: one login, the superuser, who owns all there is. */
const makeOld = async (server: EmbeddedPostgres, dataDir: string): Promise<void> => {
  const { url } = server
  await query(url, 'alter database drover owner to drover')
  await prepareDatabase(noSetup, { url, say: () => {} })
  const db = openDb({ url, max: 1, applicationName: 'test' })
  await migrateLab(db)
  await db.end()
  for (const role of [...Object.values(clusterLogins), ...runningRoles.map(groupOf)])
    await query(url, `drop owned by ${role}; drop role ${role}`)
  await query(url, "insert into setting (name, value, updated_by) values ('kept', '7', 'test')")
  await server.stop()
  for (const who of ['owner', ...loginRoles]) rmSync(join(dataDir, `postgres-${who}.password`))
}

test('a data directory of the version before is handed to the new owner, and works on for every role', async () => {
  const dataDir = await freshDir()
  await makeOld(await start(dataDir), dataDir)
  const { urls, url } = await start(dataDir)
  expect(await superusersOwn(url)).toEqual([])
  const { advice } = await migrateDb(urls.owner)
  expect(advice).toBeUndefined()
  expect(await query(urls.worker, "select value from setting where name = 'kept'")).toEqual([{ value: 7 }])
  await query(urls.lab, 'create table lab.more (n int); alter table lab.migration add column more int')
  await expect(query(urls.worker, 'select secret from webhook')).rejects.toMatchObject({ code: '42501' })
})

test('started again, a cluster has the same logins', async () => {
  const dataDir = await freshDir()
  const first = await start(dataDir)
  await first.stop()
  const { urls } = await start(dataDir)
  for (const who of loginRoles) {
    expect(loginIn(urls[who])).toEqual(loginIn(first.urls[who]))
    expect(await query(urls[who], 'select 1 as one')).toEqual([{ one: 1 }])
  }
})

test('a server that logs each statement logs no password of a login', async () => {
  const dataDir = await freshDir()
  const server = await startEmbeddedPostgres({ dataDir, log, settings: { log_statement: 'all' } })
  atEnd(() => server.stop('immediate'))
  const logged = readFileSync(server.logFile, 'utf8')
  expect(logged).toContain('drover_worker_login')
  for (const url of Object.values(server.urls)) expect(logged).not.toContain(loginIn(url).password)
})

test('one login that owns everything and may make no roles goes on as before, and learns what to ask for', async () => {
  const { url, urls } = await start(await freshDir())
  for (const role of runningRoles)
    await query(url, `drop owned by ${groupOf(role)}; drop role ${groupOf(role)}`)
  const said: string[] = []
  await prepareDatabase(noSetup, { url: urls.owner, say: (text) => said.push(text) })
  expect(said.join()).toContain('create role drover_worker nologin;')
  expect(await query(urls.owner, 'select count(*)::int as jobs from job')).toEqual([{ jobs: 0 }])
  await expect(query(urls.worker, 'select from public.job')).rejects.toMatchObject({ code: '42501' })
  for (const role of runningRoles)
    await query(url, `create role ${groupOf(role)} nologin; grant ${groupOf(role)} to ${clusterLogins[role]}`)
  await prepareDatabase(noSetup, { url: urls.owner, say: (text) => expect(text).toBe('') })
  expect(await query(urls.worker, 'select from job')).toEqual([])
})

test('databases of one cluster that are migrated at the same time make the groups together', async () => {
  const { url } = await start(await freshDir())
  for (const role of runningRoles)
    await query(url, `drop owned by ${groupOf(role)}; drop role ${groupOf(role)}`)
  const names = ['one', 'two', 'three', 'four']
  for (const name of names) await query(url, `create database ${name}`)
  const told = await Promise.all(names.map((name) => migrateDb(url.replace(/drover$/, name))))
  expect(told.map(({ advice }) => advice)).toEqual(names.map(() => undefined))
})

test('no login enters another database of a server that is ours alone; a shared one is left as it is', async () => {
  const dataDir = await freshDir()
  const enters = (url: string, database: string) => {
    const other = new URL(url)
    other.pathname = database
    return query(other.href, 'select 1').then(
      () => 'entered',
      (error: { code: string }) => error.code,
    )
  }
  const { url, urls, stop } = await start(dataDir)
  for (const who of ['owner', ...loginRoles] as const) {
    expect(await enters(urls[who], 'postgres'), who).toBe('42501')
    expect(await enters(urls[who], 'template1'), who).toBe('42501')
    expect(await enters(urls[who], 'drover'), who).toBe('entered')
  }
  await query(url, "create role somebody login password 'else'; grant connect on database postgres to public")
  await stop('fast')
  const again = await start(dataDir)
  expect(await enters(again.urls.worker, 'postgres')).toBe('entered')
})

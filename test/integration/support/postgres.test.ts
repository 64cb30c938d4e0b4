import postgres from 'postgres'
import { expect, test } from 'vitest'
import { type Db, openDb } from '../../../db/client.ts'
import { atEnd } from '../../support/cleanup.ts'
import { createDatabase, startOwnPostgres } from '../../support/postgres.ts'
import { until } from '../../support/wait.ts'

const database = await createDatabase()

test('a test database is migrated and empty', async () => {
  const [row] = await database.db`select count(*)::int as jobs from job`
  expect(row).toEqual({ jobs: 0 })
})

test('a pool goes over the Unix socket in the folder that a URL names, and over TCP without', async () => {
  const overTcp = openDb({ url: database.url, max: 1, applicationName: 'drover-test-tcp' })
  atEnd(() => overTcp.end({ timeout: 5 }))
  const from = (db: Db) => db`select inet_client_addr() as address`
  expect([...(await from(database.db))]).toEqual([{ address: null }])
  expect([...(await from(overTcp))]).toEqual([{ address: '127.0.0.1' }])
})

test('two test databases do not see each other', async () => {
  const other = await createDatabase()
  await other.db`create table only_here (id int)`
  const seen = await database.db`select 1 from pg_class where relname = 'only_here'`
  expect(other.name).not.toBe(database.name)
  expect(seen).toHaveLength(0)
})

test('a server of our own keeps its port and its data over a kill and a clean restart', async () => {
  const own = await startOwnPostgres()
  const sql = postgres(own.url, { max: 1, onnotice: () => {} })
  await sql`create table kept (id int)`
  await sql`insert into kept values (1)`
  await own.kill()
  // What the dead server left running answers for a moment more.
  await until(
    () =>
      sql`select 1`.then(
        () => false,
        () => true,
      ),
    { what: 'the server to be gone' },
  )
  await own.start()
  await until(async () => (await sql`select id from kept`).length === 1, { what: 'the row to be there' })
  await sql`insert into kept values (2)`
  await own.restart()
  const rows = await until(async () => sql`select id from kept order by id`, { what: 'the server to answer' })
  expect(rows.map((row) => row.id)).toEqual([1, 2])
  await sql.end()
})

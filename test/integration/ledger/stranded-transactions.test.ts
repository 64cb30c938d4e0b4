import pg from 'pg'
import { expect, test } from 'vitest'
import { openDb } from '../../../db/client.ts'
import { endStrandedTransactions } from '../../../db/queries/fleet/end-stranded-transactions.ts'
import { atEnd } from '../../support/cleanup.ts'
import { loginUrl } from '../../support/logins.ts'
import { createDatabase } from '../../support/postgres.ts'
import { until } from '../../support/wait.ts'

const { db, url } = await createDatabase()
await db`create table held (id int primary key)`
await db`insert into held values (1), (2)`
await db`grant select, update on held to drover_worker`
/** Neither a superuser nor a member of anything that may end sessions. */
const conductor = openDb({ url: loginUrl(url, 'conductor'), max: 1, applicationName: 'drover-conductor' })
atEnd(() => conductor.end({ timeout: 1 }))

/** A process as it looks to Postgres that was frozen between two messages of a statement. */
const freeze = async (id: number): Promise<pg.Client> => {
  const client = new pg.Client({
    connectionString: loginUrl(url, 'worker'),
    application_name: 'drover-worker',
    statement_timeout: 500,
    idle_in_transaction_session_timeout: 500,
  })
  client.on('error', () => undefined)
  await client.connect()
  atEnd(() => client.end().catch(() => undefined))
  await client.query('begin')
  await client.query('select from held where id = $1 for update', [id])
  // What the driver sends first for a statement that it has not sent before; then nothing more comes.
  const { connection } = client as unknown as {
    connection: { parse(query: object): void; flush(): void }
  }
  connection.parse({ name: 'never', text: 'select 1', types: [] })
  connection.flush()
  return client
}

const isFree = async (id: number): Promise<boolean> =>
  (await db`select from held where id = ${id} for update skip locked`).length === 1

const waitsForClient = (): Promise<unknown> =>
  until(
    async () =>
      (
        await db`select from pg_stat_activity where datname = current_database() and application_name = 'drover-worker'
        and state = 'active' and wait_event = 'ClientRead'`
      ).length > 0,
    { what: 'its session to wait for it' },
  )

// promise: stranded-transaction
test('a process that freezes in the middle of a statement keeps its locks no longer than it may be silent', async () => {
  await freeze(1)
  await waitsForClient()
  expect(await endStrandedTransactions(conductor, 60_000)).toBe(0)
  expect(await isFree(1)).toBe(false)
  await until(async () => (await endStrandedTransactions(conductor, 1_000)) === 1, {
    what: 'it to have been silent',
  })
  await until(() => isFree(1), { what: 'its lock to be free' })
  expect(await endStrandedTransactions(conductor, 0)).toBe(0)
})

test.each(['0', '-86400000', 'null'])(
  'a bound of %s ends no session that was silent for less than a second',
  async (bound) => {
    await freeze(1)
    await waitsForClient()
    const asked = () => conductor.unsafe(`select public.drover_end_stranded(${bound}) as ended`)
    expect(await asked()).toEqual([{ ended: 0 }])
    expect(await isFree(1)).toBe(false)
    await until(async () => (await endStrandedTransactions(conductor, 1_000)) === 1, { what: 'its end' })
  },
)

test('a conductor can end no session but such a one', async () => {
  const [{ pid } = { pid: 0 }] = await db<{ pid: number }[]>`select pg_backend_pid() as pid`
  await expect(conductor`select pg_terminate_backend(${pid}::int)`).rejects.toMatchObject({ code: '42501' })
})

test('neither time of Postgres ends such a transaction: that is why we do', async () => {
  await freeze(2)
  await waitsForClient()
  const [{ since } = { since: new Date() }] = await db<{ since: Date }[]>`select now() as since`
  await until(
    async () => (await db`select 1 where now() > ${since}::timestamptz + interval '2 seconds'`).length === 1,
    { what: 'four times of those times to pass' },
  )
  expect(await isFree(2)).toBe(false)
  await endStrandedTransactions(conductor, 0)
})

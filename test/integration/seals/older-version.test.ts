import { expect, test } from 'vitest'
import { migrateDb } from '../../../db/migrate/migrate.ts'
import { checkSchema } from '../../../db/migrate/schema-check.ts'
import { systemClock } from '../../../src/clock.ts'
import { createSealer } from '../../../src/seal/seal.ts'
import { keyWatch } from '../../../src/sealing/key-watch.ts'
import { atEnd } from '../../support/cleanup.ts'
import { quietLog } from '../../support/events.ts'
import { createDatabase } from '../../support/postgres.ts'
import { type Role, startRole } from '../../support/processes.ts'
import { startWorker } from '../../support/roles.ts'
import { settles, until } from '../../support/wait.ts'

const hexKey = '0a'.repeat(32)
const withinMs = 90_000

/** As a newer version would leave it: a migration that this build does not have. */
const newerDatabase = async (options: { readonly closed: boolean }) => {
  const made = await createDatabase()
  await made.db`insert into drizzle.__drizzle_migrations (hash, created_at) values ('of a newer version', 9999999999999)`
  if (options.closed) await made.db`update schema_support set migrations_min = 1000`
  return made
}

test.each(['api', 'conductor', 'worker', 'migrate'] as const satisfies readonly Role[])(
  'a %s that is older than what a newer version asks for does not start, and says what to do',
  async (role) => {
    const { url } = await newerDatabase({ closed: true })
    const process = await startRole(role, { DATABASE_URL: url, DROVER_SECRET_KEY: hexKey })
    const { code } = await settles(process.exited, { what: `the ${role} to end`, withinMs })
    expect(code).toBe(1)
    expect(process.output).toContain('was migrated by a newer version of Drover')
    expect(process.output).toContain('restore the backup')
  },
)

test('an older process starts beside a newer version as long as that one allows it', async () => {
  const { url } = await newerDatabase({ closed: false })
  await startWorker({ DATABASE_URL: url, DROVER_SECRET_KEY: hexKey })
})

test('an older migrate on the way back takes nothing from the newer version, and says so', async () => {
  const { db, url } = await newerDatabase({ closed: false })
  await db`create table of_newer (n int)`
  await db`grant select on of_newer to drover_worker`
  await db.unsafe(`create or replace function public.drover_end_stranded(silent_ms double precision) returns integer
    language sql security definer as $$ select 7 $$`)
  const { advice } = await migrateDb(url)
  expect(advice).toContain('newer version of Drover')
  expect(await db`select has_table_privilege('drover_worker', 'of_newer', 'select') as may`).toEqual([
    { may: true },
  ])
  expect(await db`select public.drover_end_stranded(0) as made`).toEqual([{ made: 7 }])
})

test('a process that runs ends when a newer version closes the database to it', async () => {
  const { db } = await newerDatabase({ closed: false })
  let stopped = false
  const stop = () => {
    stopped = true
  }
  const loop = keyWatch({ db, sealer: createSealer(hexKey), clock: systemClock, log: quietLog, stop })
  loop.start()
  atEnd(() => loop.stop())
  await checkSchema(db)
  expect(stopped).toBe(false)
  await db`update schema_support set migrations_min = 1000`
  loop.wake()
  await until(() => stopped, { what: 'the older process to end' })
})

test('a process that is newer than the schema does not start, and says who must run first', async () => {
  const { db } = await createDatabase()
  await db`drop table schema_support`
  await expect(checkSchema(db)).rejects.toMatchObject({
    code: 'schema-outdated',
    remedy: expect.stringContaining('drover migrate'),
  })
})

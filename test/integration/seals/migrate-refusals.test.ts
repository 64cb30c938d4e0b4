import { expect, test } from 'vitest'
import { migrateDb } from '../../../db/migrate/migrate.ts'
import { createDatabase } from '../../support/postgres.ts'
import { freePort } from '../../support/temp.ts'

test('a Postgres that is away is told from a defect, and its address is named without the password', async () => {
  const port = await freePort()
  const refused = migrateDb(`postgres://drover:geheim@127.0.0.1:${port}/drover`)
  await expect(refused).rejects.toMatchObject({
    code: 'database-away',
    class: 'environment',
    field: 'DATABASE_URL',
    message: expect.stringContaining(`127.0.0.1:${port}/drover cannot be reached`),
  })
  await expect(refused).rejects.not.toMatchObject({ message: expect.stringContaining('geheim') })
})

test('a database that does not exist is a mistake of the configuration', async () => {
  const { url } = await createDatabase()
  const other = new URL(url)
  other.pathname = '/no_such_database'
  await expect(migrateDb(other.href)).rejects.toMatchObject({
    code: 'database-refused',
    class: 'config',
    message: expect.stringContaining('no_such_database'),
  })
})

test('a migrated database is migrated again without a change', async () => {
  const { db, url } = await createDatabase()
  const done = () => db`select count(*)::int as migrations from drizzle.__drizzle_migrations`
  const before = await done()
  await migrateDb(url)
  expect(await done()).toEqual(before)
})

import { fileURLToPath } from 'node:url'
import { drizzle } from 'drizzle-orm/postgres-js'
import { migrate } from 'drizzle-orm/postgres-js/migrator'
import postgres from 'postgres'
import { DroverError } from '../src/errors.ts'
import { isDbAway } from './client.ts'
import { startNewEraIfRestored } from './queries/start-new-era-if-restored.ts'

/** Spells `DROV`. Whoever migrates holds it; everybody else waits, then finds nothing to do. */
const migrationLock = 0x44524f56

/**
 * Brings the schema to this version. Safe when many processes do it at once and on a live fleet: one holds an
 * advisory lock, and no statement waits for a table lock longer than `lock_timeout` (the migration then fails
 * whole and can be run again), so that a migration never queues the fleet behind itself.
 */
export const migrateDb = async (url: string): Promise<void> => {
  const connection = postgres(url, {
    max: 1,
    onnotice: () => {},
    connection: { application_name: 'drover-migrate', lock_timeout: 10_000 },
  })
  try {
    await connection`set lock_timeout = 0`
    await connection`select pg_advisory_lock(${migrationLock})`
    await connection`set lock_timeout = 10000`
    await migrate(drizzle(connection), {
      migrationsFolder: fileURLToPath(new URL('./migrations', import.meta.url)),
    })
    await startNewEraIfRestored(connection)
  } catch (error) {
    throw refusal(url, error)
  } finally {
    await connection.end({ timeout: 5 })
  }
}

/** SQLSTATEs of a server that is there but does not let us in: no such database, wrong password, no right. */
const refusals = new Set(['3D000', '28P01', '28000', '42501'])

/** A server that is away or closed to us is for whoever set DATABASE_URL; everything else stays what it is. */
const refusal = (url: string, error: unknown): unknown => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const away = isDbAway(error)
  if (!away && !refusals.has(code)) return error
  const { host, pathname } = new URL(url)
  const why = (error as Error).message
  return new DroverError(
    {
      code: away ? 'database-away' : 'database-refused',
      class: away ? 'environment' : 'config',
      message: `Postgres at ${host}${pathname} ${away ? 'cannot be reached' : 'refuses us'}: ${why}.`,
      remedy:
        'Check that it runs, and that DATABASE_URL names its address, a database that exists, and a user of it.',
      field: 'DATABASE_URL',
    },
    { cause: error },
  )
}

import { fileURLToPath } from 'node:url'
import { drizzle } from 'drizzle-orm/postgres-js'
import { migrate } from 'drizzle-orm/postgres-js/migrator'
import postgres from 'postgres'
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
  } finally {
    await connection.end({ timeout: 5 })
  }
}

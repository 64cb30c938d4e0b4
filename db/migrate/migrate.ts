import { fileURLToPath } from 'node:url'
import { drizzle } from 'drizzle-orm/postgres-js'
import { migrate } from 'drizzle-orm/postgres-js/migrator'
import postgres from 'postgres'
import { v7 as uuidv7 } from 'uuid'
import { withFirstHost } from '../../src/config/several-hosts.ts'
import { eventsKeptDaysMin } from '../../src/domain/settings.ts'
import { certificateRefused, DroverError, refusedCertificate } from '../../src/errors.ts'
import { isDbAway, type Queryable, searchPath } from '../client.ts'
import { knownMigrations } from '../known-migrations.ts'
import { groupOf, type RunningRole, runningRoles } from '../privileges.ts'
import { ensureLedgerFact } from '../queries/events/ensure-ledger-fact.ts'
import { setEventFloor } from '../queries/events/set-event-floor.ts'
import { installEndStranded } from '../queries/fleet/end-stranded-transactions.ts'
import { installSealHeads } from '../queries/seals/seal-heads.ts'
import { startNewEraIfRestored } from '../queries/seals/start-new-era-if-restored.ts'
import { grantPrivileges } from '../queries/server/grant-privileges.ts'
import { makeLabSchema } from '../queries/server/lab-schema.ts'
import { ensureGroups } from '../queries/server/role-groups.ts'
import { hasOtherMigrations } from '../queries/server/schema-support.ts'
import { securedUrl } from '../secured-url.ts'
import { checkSchema } from './schema-check.ts'

/** Spells `DROV`. Whoever migrates holds it; everybody else waits, then finds nothing to do. */
const migrationLock = 0x44524f56

export interface Migrated {
  /** Set when the groups of roles are not there and we may not make them: what a person may want to know and do. */
  readonly advice: string | undefined
}

/**
 * Brings the schema to this version, and what each role may do in it to what privileges.ts says. Safe when many processes do it at once and on a live fleet: one holds an
 * advisory lock, and no statement waits for a table lock longer than `lock_timeout` (the migration then fails
 * whole and can be run again), so that a migration never queues the fleet behind itself.
 */
export const migrateDb = async (
  url: string,
  options: { readonly eventsKeptDaysMin?: number } = {},
): Promise<Migrated> => {
  const secured = securedUrl(url)
  const connection = postgres(secured.url, {
    ...secured.options,
    max: 1,
    onnotice: () => {},
    connection: { application_name: 'drover-migrate', lock_timeout: 10_000, search_path: searchPath },
  })
  try {
    await connection`set lock_timeout = 0`
    await connection`select pg_advisory_lock(${migrationLock})`
    await connection`set lock_timeout = 10000`
    const db = connection as unknown as Queryable
    const newer = await hasOtherMigrations(db, knownMigrations)
    if (newer) await checkSchema(db)
    await migrate(drizzle(connection), {
      migrationsFolder: fileURLToPath(new URL('../migrations', import.meta.url)),
    })
    await startNewEraIfRestored(connection)
    await ensureLedgerFact(db, 'installation-id', uuidv7())
    await setEventFloor(connection, options.eventsKeptDaysMin ?? eventsKeptDaysMin)
    if (newer) return { advice: newerAdvice }
    await installEndStranded(connection)
    await installSealHeads(connection)
    const groups = await ensureGroups(connection)
    if (groups.includes('lab')) await makeLabSchema(connection)
    await grantPrivileges(connection, groups)
    return { advice: adviceOn(groups) }
  } catch (error) {
    throw refusal(url, error)
  } finally {
    await connection.end({ timeout: 5 })
  }
}

/** Functions and privileges of this version would take from the newer one what it needs. */
const newerAdvice =
  'The database was migrated by a newer version of Drover, which this one can still work on. Its functions and ' +
  'privileges stay as the newer version made them.'

const adviceOn = (there: readonly RunningRole[]): string | undefined => {
  const missing = runningRoles.filter((role) => !there.includes(role)).map(groupOf)
  if (missing.length === 0) return undefined
  const statements = missing.map((group) => `create role ${group} nologin;`).join(' ')
  return (
    "Roles can go on with the login of this database's owner, but logins of their own with less rights need groups " +
    `that this user may not make. Have an administrator run: ${statements} Then run "drover migrate" again.`
  )
}

/** SQLSTATEs of a server that is there but does not let us in: no such database, wrong password, no right. */
const refusals = new Set(['3D000', '28P01', '28000', '42501'])

/** A server that is away or closed to us is for whoever set DATABASE_URL; everything else stays what it is. */
const refusal = (url: string, error: unknown): unknown => {
  const untrusted = refusedCertificate(error)
  if (untrusted) return certificateRefused('Postgres', untrusted)
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const away = isDbAway(error)
  if (!away && !refusals.has(code)) return error
  const { host, pathname } = new URL(withFirstHost(url))
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

import { openDb } from '../../../db/client.ts'
import { migrateDb } from '../../../db/migrate/migrate.ts'
import { ensureLogins } from '../../../db/queries/server/ensure-logins.ts'
import type { Config } from '../../config/config.ts'
import { loginToMake } from '../../config/database-urls.ts'
import { openBell } from '../../ledger/bell/bell.ts'
import { createLog } from '../../process/log.ts'

/**
 * All that only the owner of a database may do, before a role starts: the logins where an administrator is named, the
 * schema of this version with who may do what in it, and the bell's store.
 */
export const prepareDatabase = async (
  config: Pick<Config, 'setupDatabaseUrl' | 'roleUrls'> & Partial<Pick<Config, 'eventsKeptDaysMin'>>,
  options: { readonly url: string; readonly say: (text: string) => void },
): Promise<void> => {
  const { url, say } = options
  if (config.setupDatabaseUrl !== undefined) await makeLogins(config.setupDatabaseUrl, { ...config, url })
  const { advice } = await migrateDb(url, config)
  if (advice !== undefined) say(advice)
  await makeBellStore(url)
}

const makeLogins = async (
  setupUrl: string,
  options: Pick<Config, 'roleUrls'> & { readonly url: string },
): Promise<void> => {
  const owner = loginToMake('DATABASE_URL', options.url)
  const roles = Object.entries(options.roleUrls).map(
    ([role, url]) => [role, loginToMake(`DROVER_${role.toUpperCase()}_DATABASE_URL`, url)] as const,
  )
  const admin = openDb({ url: setupUrl, max: 1, applicationName: 'drover-setup', statementMs: 60_000 })
  try {
    await ensureLogins(admin, { owner, roles: Object.fromEntries(roles) })
  } finally {
    await admin.end({ timeout: 5 })
  }
}

/** Also where the bell is in Redis: who changes over finds it, and no running role may make it. */
const makeBellStore = async (databaseUrl: string): Promise<void> => {
  const log = createLog({ role: 'migrate', level: 'error' })
  const bell = await openBell({ redisUrl: undefined }, { databaseUrl, log })
  try {
    await bell.prepare()
  } finally {
    await bell.close()
  }
}

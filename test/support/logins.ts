import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { asLogin, type LoginRole, loginIn, loginRoles } from '../../src/config/database-urls.ts'
import { clusterLogins } from '../../src/standalone/postgres/cluster-logins.ts'
import { clusterUser } from '../../src/standalone/postgres/postgres-cluster.ts'

/** The password of every login of a test's cluster: so a URL of it can be made wherever a test needs one. */
const password = 'only-in-tests'

/** Before the cluster's first start: its logins get the password that `loginUrl` knows. */
export const fixLogins = async (dataDir: string): Promise<void> => {
  for (const who of ['owner', ...loginRoles])
    await writeFile(join(dataDir, `postgres-${who}.password`), `${password}\n`, { mode: 0o600 })
}

/** The same database as the owner of it, or as a role, signs in. */
export const loginUrl = (url: string, who: LoginRole | 'owner'): string =>
  asLogin(url, { name: clusterLogins[who], password })

/**
 * What a role of a test is given: never the superuser that the test itself is, so that every suite proves that the
 * privileges are enough. Whoever was given a login by name keeps it.
 */
export const withLogin = (role: string, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => {
  const url = env.DATABASE_URL
  const who = role === 'migrate' ? 'owner' : loginRoles.find((name) => name === role)
  if (url === undefined || who === undefined || loginIn(url).name !== clusterUser) return env
  return { ...env, DATABASE_URL: loginUrl(url, who) }
}

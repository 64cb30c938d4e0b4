import { openDb } from '../../../db/client.ts'
import { ensureLogins } from '../../../db/queries/server/ensure-logins.ts'
import { asLogin, type DatabaseUrls, type LoginRole } from '../../config/database-urls.ts'
import { clusterPassword } from './postgres-cluster.ts'

/** The logins of the embedded cluster. Groups have other names: they are the same in every cluster. */
export const clusterLogins: Readonly<Record<LoginRole | 'owner', string>> = {
  owner: 'drover_owner',
  api: 'drover_api_login',
  conductor: 'drover_conductor_login',
  worker: 'drover_worker_login',
  lab: 'drover_lab_login',
}

/** The login of a role, with its password from the data directory. */
const clusterLogin = (dataDir: string, who: LoginRole | 'owner') => ({
  name: clusterLogins[who],
  password: clusterPassword(dataDir, `postgres-${who}`),
})

/**
 * Makes the logins of the owner and the roles in the cluster, as its superuser, who is for this alone. What an earlier
 * version made as that superuser becomes the owner's. Gives how each signs in.
 */
export const ensureClusterLogins = async (dataDir: string, superuserUrl: string): Promise<DatabaseUrls> => {
  const owner = clusterLogin(dataDir, 'owner')
  const roles = {
    api: clusterLogin(dataDir, 'api'),
    conductor: clusterLogin(dataDir, 'conductor'),
    worker: clusterLogin(dataDir, 'worker'),
    lab: clusterLogin(dataDir, 'lab'),
  }
  const admin = openDb({ url: superuserUrl, max: 1, applicationName: 'drover-setup', statementMs: 60_000 })
  try {
    await ensureLogins(admin, { owner, roles })
  } finally {
    await admin.end({ timeout: 5 })
  }
  const urlOf = (login: { name: string; password: string }) => asLogin(superuserUrl, login)
  return {
    owner: urlOf(owner),
    api: urlOf(roles.api),
    conductor: urlOf(roles.conductor),
    worker: urlOf(roles.worker),
    lab: urlOf(roles.lab),
  }
}

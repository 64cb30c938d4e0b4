import type { Db } from '../../../db/client.ts'
import { whoAmI } from '../../../db/queries/fleet/who-am-i.ts'
import type { Logger } from '../../process/log.ts'

/**
 * Logs that a role's login has more privileges than the role needs. The role works all the same, as it does in a
 * database with a single user. An unreachable database is reported elsewhere.
 */
export const warnOfPower = async (db: Db, options: { readonly role: string; readonly log: Logger }) => {
  const { role, log } = options
  const me = await whoAmI(db).catch(() => undefined)
  if (!me?.superuser && !me?.owner) return
  log.warn(
    { login: me.name, superuser: me.superuser },
    `the ${role} signs in to Postgres as ${me.superuser ? 'a superuser' : 'the owner of the database'}; ` +
      `docs/production.md says how to give it a login of its own, a member of drover_${role}`,
  )
}

import type { Db } from '../../../db/client.ts'
import { countAdmins } from '../../../db/queries/access/access-tokens.ts'
import { anyAccessToken } from '../../../db/queries/access/find-access-token.ts'
import type { Config } from '../../config/config.ts'
import { DroverError } from '../../errors.ts'
import type { Logger } from '../../process/log.ts'
import { ensureAdminToken, wayInAdvice } from './tokens.ts'

/**
 * Sees at the start to it that somebody can sign in, and says so when nobody can administrate. Where the API is
 * started alone nobody else stores the preset before it listens. Without a preset it makes no token of its own:
 * what a service prints is kept in a journal, and that is no place for an admin's secret.
 */
export const openWayIn = async (
  config: Pick<Config, 'adminToken'>,
  deps: { readonly db: Db; readonly log: Logger },
): Promise<void> => {
  const { db, log } = deps
  const found =
    config.adminToken === undefined ? await look(deps) : await ensureAdminToken(db, config.adminToken)
  if (found) for (const advice of wayInAdvice(found)) log.warn(advice)
}

/** Undefined: the database is away. Then nobody gets in either, and the API starts as it does for every request. */
const look = async ({ db, log }: { db: Db; log: Logger }): Promise<{ admins: number } | undefined> => {
  let any: boolean
  let admins: number
  try {
    any = await anyAccessToken(db)
    admins = await countAdmins(db)
  } catch (error) {
    log.warn({ err: error }, 'whether somebody can sign in is not known yet')
    return undefined
  }
  if (any) return { admins }
  throw new DroverError({
    code: 'token-required',
    class: 'config',
    message: 'No token exists yet, so nobody could use the API.',
    remedy:
      'Set DROVER_ADMIN_TOKEN for the first start (`openssl rand -hex 32` makes one), or run `drover up` once, which makes the first token and shows it.',
    field: 'DROVER_ADMIN_TOKEN',
  })
}

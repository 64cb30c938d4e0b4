import type { Tx } from '../../client.ts'

/**
 * Deletes the dead tokens that starts made for themselves, so that the list of tokens does not grow with each start.
 * Valid ones stay: another machine's start may share this database.
 */
export const pruneStartTokens = async (tx: Tx): Promise<void> => {
  await tx`
    delete from access_token
    where created_by = 'start' and (name like 'local-%' or name like 'start-%')
      and (revoked_at is not null or expires_at <= now())`
}

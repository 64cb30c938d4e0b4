import type { Queryable } from '../../client.ts'

/** The hashes of the valid tokens, in hexadecimal; the most recently used if there are too many. */
export const listLiveHashes = async (db: Queryable, limit: number): Promise<string[]> => {
  const rows = await db<{ hash: string }[]>`
    select encode(hash, 'hex') as hash from access_token
    where revoked_at is null and (expires_at is null or expires_at > now())
    order by last_used_at desc nulls last limit ${limit}`
  return rows.map(({ hash }) => hash)
}

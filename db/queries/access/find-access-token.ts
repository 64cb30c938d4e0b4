import type { Queryable } from '../../client.ts'

export interface KnownToken {
  readonly id: string
  readonly name: string
  readonly role: string
  readonly hash: Buffer
  readonly expired: boolean
  readonly revoked: boolean
  readonly usedAgoMs: number | null
}

const columns = (db: Queryable) => db`
  id, name, role, hash, coalesce(expires_at <= now(), false) as expired, revoked_at is not null as revoked,
  (extract(epoch from now() - last_used_at) * 1000)::float8 as used_ago_ms`

/** The token with this hash, even if expired or revoked, and whether any token exists. */
export const findAccessTokenByHash = async (db: Queryable, hash: Buffer): Promise<KnownToken | undefined> => {
  const [token] = await db<KnownToken[]>`select ${columns(db)} from access_token where hash = ${hash}`
  return token
}

/** The token of a session, unless the session was signed out. */
export const findTokenOfSession = async (
  db: Queryable,
  session: { readonly id: string; readonly tokenId: string },
): Promise<KnownToken | undefined> => {
  const [token] = await db<KnownToken[]>`
    select ${columns(db)} from access_token where id = ${session.tokenId}::uuid
      and not exists (select from ended_session e where e.id = decode(${session.id}, 'hex'))`
  return token
}

/** Whether any token was ever made. */
export const anyAccessToken = async (db: Queryable): Promise<boolean> => {
  const [row] = await db<{ any: boolean }[]>`select exists (select from access_token) as any`
  return row?.any ?? false
}

export const touchAccessToken = async (db: Queryable, id: string): Promise<void> => {
  await db`update access_token set last_used_at = now() where id = ${id}::uuid`
}

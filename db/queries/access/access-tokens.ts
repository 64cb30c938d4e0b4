import type { Queryable, Tx } from '../../client.ts'
import type { accessToken } from '../../schema/access.ts'

type StoredToken = typeof accessToken.$inferSelect
export type TokenRow = Omit<StoredToken, 'hash'>

export type TokenInsert = Omit<StoredToken, 'createdAt' | 'lastUsedAt' | 'revokedAt'>

const columns = (db: Queryable) =>
  db`id, name, role, hint, created_by, created_at, expires_at, last_used_at, revoked_at`

/** The ASCII codes of `TOKS`: held while tokens are added or revoked, so that "the last admin" is counted correctly. */
const tokensLock = 0x544f4b53

export const lockAccessTokens = async (tx: Tx): Promise<void> => {
  await tx`select pg_advisory_xact_lock(${tokensLock})`
}

export const insertAccessToken = async (tx: Tx, token: TokenInsert): Promise<TokenRow> => {
  const [row] = await tx<TokenRow[]>`
    insert into access_token (id, name, role, hash, hint, created_by, expires_at)
    values (${token.id}::uuid, ${token.name}, ${token.role}, ${token.hash}, ${token.hint}, ${token.createdBy},
      ${token.expiresAt})
    returning ${columns(tx)}`
  if (!row) throw new Error('A token was inserted but did not come back.')
  return row
}

/** Tokens, the newest first; revoked ones too, as long as they are kept. */
export const listAccessTokens = async (
  db: Queryable,
  page: { before: string | undefined; limit: number },
): Promise<TokenRow[]> => db<TokenRow[]>`
  select ${columns(db)} from access_token
  where ${page.before === undefined ? db`true` : db`id < ${page.before}::uuid`}
  order by id desc limit ${page.limit}`

export const findAccessTokenRow = async (db: Queryable, id: string): Promise<TokenRow | undefined> => {
  const [row] = await db<TokenRow[]>`select ${columns(db)} from access_token where id = ${id}::uuid`
  return row
}

/** How many tokens have the admin role. */
export const countAdmins = async (db: Queryable): Promise<number> => {
  const [row] = await db<{ admins: number }[]>`
    select count(*)::int as admins from access_token
    where role = 'admin' and revoked_at is null and (expires_at is null or expires_at > now())`
  return row?.admins ?? 0
}

/** How many other valid admin tokens exist. */
export const countOtherAdmins = async (tx: Tx, id: string): Promise<number> => {
  const [row] = await tx<{ others: number }[]>`
    select count(*)::int as others from access_token
    where role = 'admin' and revoked_at is null and (expires_at is null or expires_at > now()) and id <> ${id}::uuid`
  return row?.others ?? 0
}

export const revokeAccessToken = async (tx: Tx, id: string): Promise<boolean> => {
  const rows = await tx`
    update access_token set revoked_at = now() where id = ${id}::uuid and revoked_at is null returning 1`
  return rows.length === 1
}

/** The valid token with a name. */
export const findLiveTokenByName = async (tx: Tx, name: string): Promise<{ id: string } | undefined> => {
  const [row] = await tx<{ id: string }[]>`
    select id from access_token where name = ${name} and revoked_at is null`
  return row
}

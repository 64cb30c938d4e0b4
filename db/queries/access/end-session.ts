import type { Queryable } from '../../client.ts'

/** Ends a session for every API process. False when it was over already. */
export const endSession = async (
  db: Queryable,
  session: { readonly id: string; readonly tokenId: string; readonly expiresAtMs: number },
): Promise<boolean> => {
  const rows = await db`
    insert into ended_session (id, token_id, expires_at)
    values (decode(${session.id}, 'hex'), ${session.tokenId}::uuid, to_timestamp(${session.expiresAtMs}::float8 / 1000))
    on conflict do nothing returning 1`
  return rows.length === 1
}

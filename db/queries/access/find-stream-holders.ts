import type { Queryable } from '../../client.ts'

export interface StreamHolder {
  readonly tokenId: string
  /** Undefined: the token itself opened it. */
  readonly session?: { readonly id: string } | undefined
}

/** Which of these may go on: places in the list whose token is good, and whose session nobody has ended. */
export const findStreamHolders = async (
  db: Queryable,
  holders: readonly StreamHolder[],
): Promise<ReadonlySet<number>> => {
  const rows = await db<{ place: number }[]>`
    select h.place::int as place
    from unnest(${holders.map(({ tokenId }) => tokenId)}::uuid[], ${holders.map(({ session }) => session?.id ?? '')}::text[])
      with ordinality as h (token_id, session_id, place)
    join access_token t on t.id = h.token_id
    where t.revoked_at is null and (t.expires_at is null or t.expires_at > now())
      and not exists (select from ended_session e where e.id = decode(h.session_id, 'hex'))`
  return new Set(rows.map(({ place }) => place - 1))
}

import type { Queryable } from '../../client.ts'

export interface StreamHolder {
  readonly tokenId: string
  /** Not given: the token itself opened the stream. */
  readonly session?: { readonly id: string } | undefined
}

/** The streams that may go on, as indexes into the list: their token is valid and their session not ended. */
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

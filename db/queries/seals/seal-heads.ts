import type postgres from 'postgres'
import type { Queryable } from '../../client.ts'

/**
 * The header of every permanently sealed value: format and, from format 2 on, the key's id. And whether any webhook's
 * URL is unsealed.
 */
export const readSealHeads = async (db: Queryable): Promise<{ heads: Buffer[]; clearUrls: boolean }> => {
  const rows = await db<{ head: Buffer | null; clear: boolean }[]>`
    select head, clear_url as clear from public.drover_seal_heads()`
  return {
    heads: rows.flatMap(({ head }) => (head === null ? [] : [head])),
    clearUrls: rows.some(({ clear }) => clear),
  }
}

/** The function behind it. It runs as the owner: a role learns which key it needs, and reads nothing that is sealed. */
export const installSealHeads = async (sql: postgres.Sql): Promise<void> => {
  await sql.unsafe(`
    create or replace function public.drover_seal_heads() returns table (head bytea, clear_url boolean)
    language sql stable security definer set search_path = pg_catalog, pg_temp as $$
      select distinct substring(sealed from 1 for 9), false from (
        select secret as sealed from public.site where secret is not null
        union all select secret from public.webhook
        union all select sealed_url from public.webhook where sealed_url is not null
        union all select private_key from public.signing_key where private_key is not null
        union all select sealed from public.former_key
      ) every
      union all select null, true where exists (select from public.webhook where sealed_url is null)
    $$`)
}

import type { Queryable } from '../../client.ts'

export interface UnopenedRow {
  readonly kind: 'source' | 'target' | 'webhook'
  readonly id: string
  readonly name: string
  /** The number of all, also beyond the limit. */
  readonly total: number
}

/** Stored secrets that none of these keys can open: they have to be entered again. */
export const findUnopened = async (
  db: Queryable,
  keyIds: readonly string[],
  limit: number,
): Promise<UnopenedRow[]> => {
  const foreign = (column: 'secret' | 'sealed_url') =>
    db`encode(substring(${db(column)} from 2 for 8), 'hex') <> all(${keyIds as string[]}::text[])`
  return db<UnopenedRow[]>`
    select kind, id, name, (count(*) over ())::int as total from (
      select role as kind, id::text as id, name from site where ${foreign('secret')}
      union all
      select 'webhook', id::text, name from webhook where ${foreign('secret')} or ${foreign('sealed_url')}
    ) unopened order by kind, name, id limit ${limit}`
}

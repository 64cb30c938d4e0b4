import type { Queryable } from '../../client.ts'

export interface WhoAmI {
  readonly name: string
  readonly superuser: boolean
  /** May change the schema: owns the tables, or is a member of their owner. */
  readonly owner: boolean
}

/** The login of this process. */
export const whoAmI = async (db: Queryable): Promise<WhoAmI> => {
  const [row] = await db<WhoAmI[]>`
    select rolname as name, rolsuper as superuser, coalesce((
        select pg_catalog.pg_has_role(c.relowner, 'usage') from pg_catalog.pg_class c
        where c.oid = pg_catalog.to_regclass('public.job')), false) as owner
    from pg_catalog.pg_roles where rolname = current_user`
  if (!row) throw new Error('Postgres does not know who is signed in.')
  return row
}

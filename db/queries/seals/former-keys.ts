import type { Queryable } from '../../client.ts'

export interface FormerKeyRow {
  readonly id: string
  readonly sealed: Buffer
}

export const listFormerKeys = async (db: Queryable): Promise<FormerKeyRow[]> =>
  db<FormerKeyRow[]>`select id, sealed from former_key order by replaced_at, id`

export const saveFormerKey = async (db: Queryable, key: FormerKeyRow): Promise<void> => {
  await db`insert into former_key (id, sealed) values (${key.id}, ${key.sealed})
    on conflict (id) do update set sealed = excluded.sealed, replaced_at = now()`
}

/** A key that is in use again is no former key. */
export const forgetFormerKey = async (db: Queryable, id: string): Promise<void> => {
  await db`delete from former_key where id = ${id}`
}

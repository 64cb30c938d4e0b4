import type { Queryable } from '../../client.ts'

/** Whether the machine of an entry is certified: by the entry or, if that was removed, by its certificate. */
export const isVouchedFor = async (db: Queryable, entryId: string): Promise<boolean> => {
  const [row] = await db<{ vouched: boolean }[]>`
    select coalesce(
      (select state = 'finished' from entry where id = ${entryId}::uuid),
      exists (select from certificate where entry_id = ${entryId}::uuid)) as vouched`
  return row?.vouched ?? false
}

import type { Queryable } from '../../client.ts'

/** Whether an entry's source is off because of Drover, and since when; undefined: the entry is gone. */
export const findStoppedSource = async (
  db: Queryable,
  entryId: string,
): Promise<{ readonly state: string; readonly sourceStoppedAt: Date | null } | undefined> => {
  const [row] = await db<{ state: string; sourceStoppedAt: Date | null }[]>`
    select state, source_stopped_at from entry where id = ${entryId}::uuid`
  return row
}

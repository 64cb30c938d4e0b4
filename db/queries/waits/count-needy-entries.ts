import type { Queryable } from '../../client.ts'

/** How many entries need a person, in all batches together. */
export interface NeedyEntries {
  readonly conflict: number
  readonly error: number
}

/** By batch, as in the index: entries that make progress are not read. */
export const countNeedyEntries = async (db: Queryable): Promise<NeedyEntries> => {
  const [row] = await db<NeedyEntries[]>`
    select coalesce(sum((select count(*) from entry e where e.batch_id = b.id and e.state = 'conflict')), 0)::int
        as conflict,
      coalesce(sum((select count(*) from entry e where e.batch_id = b.id and e.state = 'error')), 0)::int as error
    from batch b`
  return row ?? { conflict: 0, error: 0 }
}

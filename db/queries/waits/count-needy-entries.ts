import type { Queryable } from '../../client.ts'

/** How many entries only a person can bring on, in all batches together. */
export interface NeedyEntries {
  readonly conflict: number
  readonly error: number
}

/** By batch, because that is how the index knows them: entries that are on their way are not read. */
export const countNeedyEntries = async (db: Queryable): Promise<NeedyEntries> => {
  const [row] = await db<NeedyEntries[]>`
    select coalesce(sum((select count(*) from entry e where e.batch_id = b.id and e.state = 'conflict')), 0)::int
        as conflict,
      coalesce(sum((select count(*) from entry e where e.batch_id = b.id and e.state = 'error')), 0)::int as error
    from batch b`
  return row ?? { conflict: 0, error: 0 }
}

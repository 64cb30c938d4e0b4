import type { Queryable } from '../../client.ts'

/** Makes jobs due whose time has come. Returns how many, and how long until the next one. */
export const promoteHeldJobs = async (
  db: Queryable,
  limit: number,
): Promise<{ promoted: number; nextMs: number | null }> => {
  const [row] = await db<{ promoted: number; nextMs: number | null }[]>`
    with come as (
      select id from job where state = 'ready' and bell = 'held' and run_after <= now()
      order by run_after limit ${limit} for update skip locked
    ), promoted as (
      update job j set bell = 'due' from come where j.id = come.id returning 1
    )
    select (select count(*)::int from promoted) as promoted,
      (select extract(epoch from min(run_after) - now())::float8 * 1000 from job
       where state = 'ready' and bell = 'held' and run_after > now()) as next_ms`
  return row ?? { promoted: 0, nextMs: null }
}

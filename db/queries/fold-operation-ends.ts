import type { Db } from '../client.ts'

/**
 * Adds a batch of ends to the tally and forgets them, in one statement: none is lost and none counts twice, whoever
 * else does the same at this moment. Gives how many there were.
 */
export const foldOperationEnds = async (db: Db, limit: number): Promise<number> => {
  const [row] = await db<{ ends: number }[]>`
    with taken as (
      delete from operation_end where id in (
        select id from operation_end order by id limit ${limit} for update skip locked)
      returning *
    ), summed as (
      select kind, force, outcome, reason, count(*) as times, sum(waited_seconds) as waited_seconds,
        sum(ran_seconds) as ran_seconds
      from taken group by kind, force, outcome, reason
    ), folded as (
      insert into operation_tally as t (kind, force, outcome, reason, times, waited_seconds, ran_seconds)
      select * from summed order by kind, force, outcome, reason
      on conflict (kind, force, outcome, reason) do update set times = t.times + excluded.times,
        waited_seconds = t.waited_seconds + excluded.waited_seconds, ran_seconds = t.ran_seconds + excluded.ran_seconds
    )
    select count(*)::int as ends from taken`
  return row?.ends ?? 0
}

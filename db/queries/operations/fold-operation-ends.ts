import { spanBounds } from '../../../src/domain/operation/kinds/times.ts'
import type { Db } from '../../client.ts'

/**
 * Adds a batch of ends to the counts and deletes them, in one statement: none is lost and none counts twice, also with
 * concurrent calls. Returns how many there were. A refusal has taken no time, and an operation that had not begun has
 * not run.
 */
export const foldOperationEnds = async (db: Db, limit: number): Promise<number> => {
  const [row] = await db<{ ends: number }[]>`
    with taken as (
      delete from operation_end where id in (
        select id from operation_end order by id limit ${limit} for update skip locked)
      returning *
    ), folded as (
      insert into operation_tally as t (kind, force, outcome, reason, times)
      select kind, force, outcome, reason, count(*) from taken
      group by kind, force, outcome, reason order by kind, force, outcome, reason
      on conflict (kind, force, outcome, reason) do update set times = t.times + excluded.times
    ), spans as (
      select kind, outcome, span, seconds,
        coalesce((select min(le) from unnest(${spanBounds as unknown as number[]}::float8[]) le where le >= seconds),
          'Infinity') as le
      from taken, lateral (values ('waited', waited_seconds), ('ran', nullif(ran_seconds, 0))) took(span, seconds)
      where outcome not in ('refused', 'cancel-refused') and seconds is not null
    ), measured as (
      insert into operation_span as t (kind, outcome, span, le, times, seconds)
      select kind, outcome, span, le, count(*), sum(seconds) from spans
      group by kind, outcome, span, le order by kind, outcome, span, le
      on conflict (kind, outcome, span, le) do update set times = t.times + excluded.times,
        seconds = t.seconds + excluded.seconds
    )
    select count(*)::int as ends from taken`
  return row?.ends ?? 0
}

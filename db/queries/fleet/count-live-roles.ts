import type { Queryable } from '../../client.ts'

/** How many conductors and workers had a heartbeat within `silentMs`. */
export const countLiveRoles = async (
  db: Queryable,
  silentMs: number,
): Promise<{ conductors: number; workers: number }> => {
  const [row] = await db<{ conductors: number; workers: number }[]>`
    select count(*) filter (where role = 'conductor')::int as conductors,
      count(*) filter (where role = 'worker' and state = 'active')::int as workers
    from worker where stopped_at is null
      and heartbeat_at > now() - ${silentMs}::float8 * interval '1 millisecond'`
  return row ?? { conductors: 0, workers: 0 }
}

import type postgres from 'postgres'

/** Tells `drover_prune_events` the minimum age of pruned events. Only the owner may write it. */
export const setEventFloor = async (sql: postgres.Sql, days: number): Promise<void> => {
  await sql`insert into public.event_floor (kept_days_min) values (${days})
    on conflict (single) do update set kept_days_min = excluded.kept_days_min
    where event_floor.kept_days_min <> excluded.kept_days_min`
}

import type postgres from 'postgres'

/**
 * A dump that was restored into another cluster brings events with transaction ids ahead of the new cluster's. New
 * events would sort before old ones and no reader would ever see them, so a new era begins.
 *
 * Either of two signs is enough: the cluster's identity is not the recorded one, or an event has a transaction id that
 * this cluster has not used yet (a data-only dump in a freshly migrated schema brings no different identity). An
 * unnecessary new era, as after an upgrade of Postgres, costs nothing.
 */
export const startNewEraIfRestored = async (sql: postgres.Sql): Promise<void> => {
  await sql.begin(async (tx) => {
    const [cluster] = await tx<
      { id: string }[]
    >`select system_identifier::text as id from pg_control_system()`
    if (!cluster) throw new Error('Postgres does not tell its system identifier.')
    const [known] = await tx<{ value: string }[]>`select value from ledger_fact where name = 'cluster'`
    await tx`insert into ledger_fact (name, value) values ('cluster', ${cluster.id})
      on conflict (name) do update set value = excluded.value, updated_at = now()`
    const moved = known !== undefined && known.value !== cluster.id
    const [facts] = await tx<{ newest: number; fromTheFuture: boolean; stale: boolean }[]>`
      select newest.era::int as newest,
        exists (select 1 from event where era = newest.era
          and xid >= pg_snapshot_xmax(pg_current_snapshot())) as "fromTheFuture",
        newest.era > newest.written as stale
      from (
        select written.era as written, greatest(written.era,
          coalesce((select max(era) from event), 1),
          coalesce((select max(era) from event_seal), 1),
          coalesce((select value::smallint from ledger_fact where name = 'era'), 1)) as era
        from (
          select pg_get_expr(adbin, adrelid)::smallint as era from pg_attrdef
          join pg_attribute on attrelid = adrelid and attnum = adnum
          where adrelid = 'event'::regclass and attname = 'era'
        ) written
      ) newest`
    if (!facts) throw new Error('The column event.era has no default; the schema is not complete.')
    // Present from the beginning: a worker may add facts, and could otherwise add a missing one.
    await tx`insert into ledger_fact (name, value) values ('era', ${String(facts.newest)}) on conflict do nothing`
    if (!moved && !facts.fromTheFuture && !facts.stale) return
    const era = facts.newest + 1
    // The default costs writers nothing, unlike a look-up in each insert. `era` is our own small integer.
    await tx.unsafe(`alter table event alter column era set default ${era}`)
    await tx`insert into ledger_fact (name, value) values ('era', ${String(era)})
      on conflict (name) do update set value = excluded.value, updated_at = now()`
  })
}

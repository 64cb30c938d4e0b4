import type postgres from 'postgres'

/**
 * A dump that was restored into another cluster brings events whose transaction ids are ahead of the new
 * cluster's. New events would sort before old ones and no reader would ever see them, so a new era begins.
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
    if (!known || known.value === cluster.id) return
    const [last] = await tx<{ era: number }[]>`select max(era)::int as era from event`
    const era = (last?.era ?? 0) + 1
    // The default costs the writers nothing, unlike a look-up in each insert. `era` is our own small integer.
    await tx.unsafe(`alter table event alter column era set default ${era}`)
    await tx`update ledger_fact set value = ${String(era)} where name = 'era'`
    await tx`insert into ledger_fact (name, value) values ('era', ${String(era)}) on conflict (name) do nothing`
  })
}

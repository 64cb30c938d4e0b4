import type { Queryable } from '../../client.ts'

export const readLedgerFact = async (db: Queryable, name: string): Promise<string | undefined> => {
  const [row] = await db<{ value: string }[]>`select value from ledger_fact where name = ${name}`
  return row?.value
}

export const writeLedgerFact = async (db: Queryable, name: string, value: string): Promise<void> => {
  await db`insert into ledger_fact (name, value) values (${name}, ${value})
    on conflict (name) do update set value = excluded.value, updated_at = now()`
}

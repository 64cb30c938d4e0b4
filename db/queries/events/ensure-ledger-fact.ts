import type { Queryable } from '../../client.ts'

/** A fact that is written once and never changed: the first writer decides, and all read the same value. */
export const ensureLedgerFact = async (db: Queryable, name: string, first: string): Promise<string> => {
  const [row] = await db<{ value: string }[]>`
    with written as (
      insert into ledger_fact (name, value) values (${name}, ${first}) on conflict do nothing returning value
    )
    select value from written union all select value from ledger_fact where name = ${name} limit 1`
  // Another transaction's fact was committed after this statement began.
  return row?.value ?? (await ensureLedgerFact(db, name, first))
}

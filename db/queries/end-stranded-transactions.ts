import type { Queryable } from '../client.ts'

/**
 * Ends sessions of ours that have waited in the middle of a statement for their process for so long. One that was frozen
 * between two messages of a statement holds its locks for as long as it likes: Postgres counts neither the statement's
 * time nor that of an idle transaction while it waits for the next message.
 */
export const endStrandedTransactions = async (db: Queryable, silentMs: number): Promise<number> => {
  const rows = await db<{ ended: boolean }[]>`
    select pg_terminate_backend(pid) as ended from pg_stat_activity
    where datname = current_database() and usename = current_user and pid <> pg_backend_pid()
      and application_name like 'drover-%' and state = 'active' and wait_event = 'ClientRead'
      and state_change < now() - ${silentMs}::float8 * interval '1 millisecond'`
  return rows.filter(({ ended }) => ended).length
}

import type postgres from 'postgres'
import type { Queryable } from '../../client.ts'
import { groupOf, runningRoles } from '../../privileges.ts'

/**
 * Ends sessions of ours that have waited this long for their process in the middle of a statement. A process that was
 * frozen between two messages of a statement holds its locks indefinitely: Postgres applies neither the statement
 * timeout nor that of idle transactions while it waits for the next message.
 */
export const endStrandedTransactions = async (db: Queryable, silentMs: number): Promise<number> => {
  const [row] = await db<{ ended: number }[]>`
    select public.drover_end_stranded(${silentMs}::float8) as ended`
  return row?.ended ?? 0
}

/**
 * The minimum, whatever the caller asks: a stolen login of the conductor must not end sessions that wait between two
 * messages.
 */
const silentMsMin = 1_000

/**
 * The function that does it. It runs as the owner: seeing and ending sessions of other logins takes rights
 * (pg_read_all_stats, pg_signal_backend) over the whole cluster, which a conductor must not have. An owner without
 * these ends only sessions of its own login, which is enough where every process signs in as the owner.
 */
export const installEndStranded = async (sql: postgres.Sql): Promise<void> => {
  const groups = runningRoles.map((role) => `'${groupOf(role)}'`).join(', ')
  await sql.unsafe(`
    create or replace function public.drover_end_stranded(silent_ms double precision) returns integer
    language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
      select count(*) filter (where ended)::integer from (
        select pg_terminate_backend(a.pid) as ended
        from pg_stat_activity a join pg_roles r on r.oid = a.usesysid
        where a.datname = current_database() and a.pid <> pg_backend_pid()
          and a.application_name like 'drover-%' and a.state = 'active' and a.wait_event = 'ClientRead'
          and a.state_change < now() - greatest(silent_ms, ${silentMsMin}) * interval '1 millisecond'
          and (r.rolname = current_user or not r.rolsuper and pg_has_role('pg_signal_backend', 'usage')
            and exists (select from pg_roles g where g.rolname in (${groups}) and pg_has_role(r.oid, g.oid, 'member')))
      ) stranded
    $$`)
}

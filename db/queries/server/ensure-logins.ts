import type { Db, Tx } from '../../client.ts'
import { groupOf, type RunningRole } from '../../privileges.ts'
import { scramVerifier } from '../../scram-verifier.ts'
import { ensureGroups } from './role-groups.ts'

export interface Login {
  readonly name: string
  readonly password: string
}

export interface Logins {
  /** Owns the database and everything in it. Only for `migrate`. */
  readonly owner: Login
  readonly roles: Readonly<Partial<Record<RunningRole, Login>>>
}

/** What the owner needs to end sessions of other logins: see drover_end_stranded. */
const ownerGroups = ['pg_read_all_stats', 'pg_signal_backend']

/**
 * Makes a login for the owner and one for each role, none of them a superuser, and transfers everything to the owner,
 * including what an earlier version made as a superuser. Run as an administrator of the cluster, in Drover's database.
 * Repeatable; passwords become the given ones.
 */
export const ensureLogins = async (admin: Db, logins: Logins): Promise<void> => {
  await ensureGroups(admin)
  await admin.begin(async (tx) => {
    // A fleet of the version before may be running: if a table cannot be locked soon, everything fails and is run
    // again.
    await tx`set local lock_timeout = '10s'`
    await ensureLogin(tx, logins.owner)
    for (const group of ownerGroups) await join(tx, group, logins.owner.name)
    for (const [role, login] of Object.entries(logins.roles)) {
      if (login.name === logins.owner.name) continue
      await ensureLogin(tx, login)
      await join(tx, groupOf(role as RunningRole), login.name)
    }
    await handOver(tx, logins)
    await closeOtherDatabases(tx, logins)
  })
}

/**
 * Postgres lets every login into `postgres` and `template1`, where a stolen one could fill the disk with temporary
 * tables. They are closed where the server is ours alone: on a shared server other programs may need them.
 */
const closeOtherDatabases = async (tx: Tx, { owner, roles }: Logins): Promise<void> => {
  const ours = [owner.name, ...Object.values(roles).map((login) => login.name)]
  const statements = await tx<Handed[]>`
    select format('revoke connect on database %I from public', datname) as statement
    from pg_catalog.pg_database
    where datname in ('postgres', 'template1') and datname <> current_database()
      and pg_catalog.pg_has_role(datdba, 'usage')
      and not exists (
        select from pg_catalog.pg_roles where rolcanlogin and not rolsuper and rolname <> all(${ours}))
    order by datname`
  for (const { statement } of statements) await tx.unsafe(statement)
}

const join = async (tx: Tx, group: string, login: string): Promise<void> => {
  await tx`grant ${tx(group)} to ${tx(login)}`
}

const ensureLogin = async (tx: Tx, login: Login): Promise<void> => {
  const [there] = await tx`select from pg_catalog.pg_roles where rolname = ${login.name}`
  // These keywords take no parameters. The verifier's characters need no quoting.
  const rights = 'login nosuperuser nocreatedb nocreaterole noreplication nobypassrls inherit'
  const [named] = await tx<{ sql: string }[]>`select format('%I', ${login.name}::text) as sql`
  const verb = there ? 'alter' : 'create'
  await tx.unsafe(`${verb} role ${named?.sql} ${rights} password '${scramVerifier(login.password)}'`)
  await tx.unsafe(`alter role ${named?.sql} set search_path = public, pg_temp`)
}

interface Handed {
  readonly statement: string
}

const handOver = async (tx: Tx, { owner, roles }: Logins): Promise<void> => {
  const lab = roles.lab?.name ?? owner.name
  const statements = await tx<Handed[]>`
    with ours as (
      select oid, nspname, case nspname when 'lab' then ${lab}::text else ${owner.name}::text end as owner
      from pg_catalog.pg_namespace where nspname in ('public', 'drizzle', 'self_test', 'bullmq', 'lab')
    ), things as (
      select 1 as turn, format('database %I', datname) as thing, datdba as owned_by, ${owner.name}::text as owner
      from pg_catalog.pg_database where datname = current_database()
      union all
      select 2, format('schema %I', nspname), nspowner, ${owner.name}::text
      from pg_catalog.pg_namespace where oid in (select oid from ours) and nspname <> 'public'
      union all
      select 3, format('%s %I.%I', case c.relkind when 'v' then 'view' when 'm' then 'materialized view'
          when 'S' then 'sequence' else 'table' end, n.nspname, c.relname), c.relowner, n.owner
      from pg_catalog.pg_class c join ours n on n.oid = c.relnamespace
      -- A sequence of a column goes with its table.
      where c.relkind in ('r', 'p', 'v', 'm') or c.relkind = 'S' and not exists (
        select from pg_catalog.pg_depend d where d.objid = c.oid and d.deptype in ('a', 'i'))
      union all
      select 4, format('routine %I.%I(%s)', n.nspname, p.proname,
        pg_catalog.pg_get_function_identity_arguments(p.oid)), p.proowner, n.owner
      from pg_catalog.pg_proc p join ours n on n.oid = p.pronamespace
      where not exists (select from pg_catalog.pg_depend d where d.objid = p.oid and d.deptype = 'e')
      union all
      select 5, format('type %I.%I', n.nspname, t.typname), t.typowner, n.owner
      from pg_catalog.pg_type t join ours n on n.oid = t.typnamespace where t.typtype in ('e', 'd')
    )
    select format('alter %s owner to %I', thing, owner) as statement from things
    where owned_by <> (select oid from pg_catalog.pg_roles where rolname = owner) order by turn, thing`
  for (const { statement } of statements) await tx.unsafe(statement)
  await tx`revoke create on schema public from public`
}

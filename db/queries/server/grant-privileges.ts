import type postgres from 'postgres'
import {
  bell,
  functions,
  type Grants,
  groupOf,
  type RunningRole,
  schemas,
  sequences,
  tables,
} from '../../privileges.ts'

interface Found {
  readonly kind: 'table' | 'sequence' | 'function' | 'schema'
  /** As privileges.ts names it. */
  readonly name: string
  /** As SQL names it. */
  readonly sql: string
}

/** Our tables, sequences, functions and schemas, without those of extensions and BullMQ. */
export const readOwnThings = (sql: postgres.ISql): Promise<Found[]> =>
  sql<Found[]>`
  with ours as (
    select oid, nspname from pg_catalog.pg_namespace
    where nspname = any(${Object.keys(schemas)}::text[])
  )
  select 'schema' as kind, nspname as name, format('%I', nspname) as sql from ours
  union all
  select case c.relkind when 'S' then 'sequence' else 'table' end, n.nspname || '.' || c.relname,
    format('%I.%I', n.nspname, c.relname)
  from pg_catalog.pg_class c join ours n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'f', 'S') and n.nspname <> 'lab'
  union all
  select 'function', n.nspname || '.' || p.proname,
    format('%I.%I(%s)', n.nspname, p.proname, pg_catalog.pg_get_function_identity_arguments(p.oid))
  from pg_catalog.pg_proc p join ours n on n.oid = p.pronamespace
  where p.prokind <> 'p' and n.nspname <> 'lab'
    and not exists (select from pg_catalog.pg_depend d where d.objid = p.oid and d.deptype = 'e')
  order by 1, 2` as unknown as Promise<Found[]>

/**
 * Sets the privileges of each group as in privileges.ts, in one transaction, so that a running role has the old
 * privileges or the new ones and never none. No table is locked.
 */
export const grantPrivileges = async (sql: postgres.Sql, groups: readonly RunningRole[]): Promise<void> => {
  await sql.begin(async (tx) => {
    const found = await readOwnThings(tx)
    const named = { table: tables, sequence: sequences, function: functions, schema: schemas }
    const statements = found.flatMap((thing) => [
      `revoke all on ${thing.kind} ${thing.sql} from ${everybody(groups)}`,
      ...granted(`${thing.kind} ${thing.sql}`, named[thing.kind][thing.name], groups),
    ])
    if (statements.length > 0) await tx.unsafe(statements.join(';\n'))
    await closeDatabase(tx)
  })
}

const everybody = (groups: readonly RunningRole[]): string => ['public', ...groups.map(groupOf)].join(', ')

const granted = (thing: string, grants: Grants | undefined, groups: readonly RunningRole[]): string[] =>
  groups.flatMap((role) => {
    const verbs = grants?.[role] ?? ''
    return verbs === '' ? [] : [`grant ${verbs} on ${thing} to ${groupOf(role)}`]
  })

/**
 * Temporary tables would come first in every search, and nobody needs them. Only the owner of the database may revoke
 * them.
 */
const closeDatabase = async (tx: postgres.ISql): Promise<void> => {
  const [here] = await tx<{ sql: string; mine: boolean }[]>`
    select format('%I', datname) as sql, pg_catalog.pg_has_role(datdba, 'usage') as mine
    from pg_catalog.pg_database where datname = current_database()`
  if (here?.mine) await tx.unsafe(`revoke temporary on database ${here.sql} from public`)
}

/** The same for the bell's store, as one text: the store is made with another driver. */
export const bellGrants = (groups: readonly RunningRole[]): string => {
  const { schema } = bell
  const allOf = (kind: string, grants: Grants): string[] => [
    `revoke all on all ${kind} in schema ${schema} from ${everybody(groups)}`,
    ...granted(`all ${kind} in schema ${schema}`, grants, groups),
  ]
  return [
    `revoke all on schema ${schema} from ${everybody(groups)}`,
    ...granted(`schema ${schema}`, bell.usage, groups),
    ...allOf('tables', bell.tables),
    ...allOf('sequences', bell.sequences),
    ...allOf('functions', bell.functions),
    ...bell.fixed.flatMap((table) =>
      groups.map((role) => `revoke insert, update, delete on ${schema}.${table} from ${groupOf(role)}`),
    ),
    ...bell.asOwner.flatMap((name) => [
      `alter function ${schema}.${name} security definer set search_path = ${schema}, pg_temp`,
      ...groups
        .filter((role) => role !== 'conductor')
        .map((role) => `revoke execute on function ${schema}.${name} from ${groupOf(role)}`),
    ]),
  ].join(';\n')
}

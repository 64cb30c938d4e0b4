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

/** Tables, sequences, functions and schemas of ours; what an extension or BullMQ brought is not. */
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
 * Makes what each group may do what privileges.ts says: one transaction, so that a role that works meanwhile has the
 * privileges of before or those of after and never none. No table is locked.
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

/** Temporary tables would come before ours in every search, and nobody needs them. Only its owner may say so. */
const closeDatabase = async (tx: postgres.ISql): Promise<void> => {
  const [here] = await tx<{ sql: string; mine: boolean }[]>`
    select format('%I', datname) as sql, pg_catalog.pg_has_role(datdba, 'usage') as mine
    from pg_catalog.pg_database where datname = current_database()`
  if (here?.mine) await tx.unsafe(`revoke temporary on database ${here.sql} from public`)
}

/** The same for the bell's store, as one text: whoever makes the store has another driver than ours. */
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

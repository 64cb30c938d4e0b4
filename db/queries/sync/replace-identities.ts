import type { Queryable, Tx } from '../../client.ts'

export interface Identity {
  readonly id: string
  readonly kind: string
  readonly value: string
}

/** With more instances than this for a value, one more changes nothing for the others. */
const crowd = 50

/**
 * Replaces the identities of these instances. Returns other instances that share, or shared until now, a changed
 * value: what was recorded about a clash is outdated for them.
 */
export const replaceIdentities = async (
  tx: Tx,
  instanceIds: readonly string[],
  identities: readonly Identity[],
): Promise<string[]> => {
  const ids = instanceIds as string[]
  const text = JSON.stringify(identities)
  const rows = await tx<{ id: string }[]>`
    with wanted as materialized (
      select distinct w.id, w.kind, w.value
      from jsonb_to_recordset(${text}::text::jsonb) as w(id uuid, kind text, value text)
    ), dropped as (
      delete from instance_identity d where d.instance_id = any(${ids}::uuid[])
        and not exists (
          select from wanted w where w.id = d.instance_id and w.kind = d.kind and w.value = d.value)
      returning d.kind, d.value
    ), added as (
      insert into instance_identity (kind, value, instance_id) select kind, value, id from wanted
      on conflict do nothing returning kind, value
    ), touched as (select kind, value from dropped union select kind, value from added)
    select distinct o.instance_id as id from touched t
    cross join lateral (
      select instance_id from instance_identity i where i.kind = t.kind and i.value = t.value limit ${crowd}) o
    where not o.instance_id = any(${ids}::uuid[])`
  return rows.map((row) => row.id)
}

export interface SharedValue {
  readonly kind: string
  readonly value: string
  readonly count: number
}

/** Values of these instances that more than one instance of the fleet has. */
export const findSharedValues = async (
  db: Queryable,
  instanceIds: readonly string[],
): Promise<SharedValue[]> => db<SharedValue[]>`
  select v.kind, v.value, o.count from (
    select distinct kind, value from instance_identity where instance_id = any(${instanceIds as string[]}::uuid[])
  ) v cross join lateral (
    select count(*)::int as count from instance_identity i where i.kind = v.kind and i.value = v.value) o
  where o.count > 1`

import type { Queryable } from '../../client.ts'
import { isItself } from './same-place.ts'
import { tellsApart } from './tells-apart.ts'

/** A running machine of a site, and another running machine with the same identity anywhere, as last seen. */
export interface RunningTwice {
  readonly ref: string
  readonly name: string
  readonly uuid: string
  /** A MAC address that both have; null: the UUID. */
  readonly mac: string | null
  readonly otherSiteId: string
  readonly otherSite: string
  readonly otherRef: string
  readonly otherName: string
}

type Alias = 'i' | 'o'

/**
 * A condition: the instance runs, by the last reading. While a batch holds it, that is recorded apart from its record.
 */
const isOn = (db: Queryable, alias: Alias) =>
  alias === 'i'
    ? db`coalesce(i.pending -> 'facts' ->> 'power_state', i.facts ->> 'power_state') = 'on' and i.gone_at is null`
    : db`coalesce(o.pending -> 'facts' ->> 'power_state', o.facts ->> 'power_state') = 'on' and o.gone_at is null`

const notItself = (db: Queryable, one: 'i' | 'm', other: 'o' | 'n') => {
  const at: Readonly<Record<typeof one | typeof other, Parameters<typeof isItself>[1]>> = {
    i: { site: db`i.site_id`, ref: db`i.ref` },
    m: { site: db`m.target_id`, ref: db`m.ref` },
    o: { site: db`o.site_id`, ref: db`o.ref` },
    n: { site: db`n.target_id`, ref: db`n.ref` },
  }
  return db`not ${isItself(db, at[one], at[other])}`
}

/**
 * The UUID counts wherever the other machine is; a MAC address only on another platform: within one platform there is
 * a rule for it. The running machines of this site are found once: reading their facts is most of the work.
 */
const ofSource = (db: Queryable, siteId: string) => db`
  with here as materialized (
    select i.id, i.site_id, i.ref, i.name, i.uuid from instance i where i.site_id = ${siteId}::uuid and ${isOn(db, 'i')})
  select i.ref, i.name, i.uuid, null as mac, n.target_id as other_site_id, n.ref as other_ref, n.name as other_name
  from here i join machine n on n.uuid = i.uuid and n.uuid <> '' and n.gone_at is null and n.power = 'on'
  where ${tellsApart(db, db`i.uuid`)} and ${notItself(db, 'i', 'n')}
  union all
  select i.ref, i.name, i.uuid, null, o.site_id, o.ref, o.name
  from here i join instance o on o.uuid = i.uuid and o.id <> i.id
  where ${tellsApart(db, db`i.uuid`)} and ${isOn(db, 'o')} and ${notItself(db, 'i', 'o')}
  union all
  select i.ref, i.name, i.uuid, d.value, n.target_id, n.ref, n.name
  from (select target_id, ref, name, unnest(macs) as mac from machine where gone_at is null and power = 'on') n
    join instance_identity d on d.kind = 'mac' and d.value = n.mac
    join here i on i.id = d.instance_id
  where ${notItself(db, 'i', 'n')}
  union all
  select i.ref, i.name, i.uuid, d.value, o.site_id, o.ref, o.name
  from here i join instance_identity d on d.instance_id = i.id and d.kind = 'mac'
    join instance_identity c on c.kind = 'mac' and c.value = d.value and c.instance_id <> d.instance_id
    join instance o on o.id = c.instance_id and o.site_id <> i.site_id
  where ${isOn(db, 'o')} and ${notItself(db, 'i', 'o')}`

const ofTarget = (db: Queryable, siteId: string) => db`
  select m.ref, m.name, m.uuid, null as mac, o.site_id as other_site_id, o.ref as other_ref, o.name as other_name
  from machine m join instance o on o.uuid = m.uuid
  where m.target_id = ${siteId}::uuid and m.gone_at is null and m.power = 'on' and ${tellsApart(db, db`m.uuid`)}
    and ${isOn(db, 'o')} and ${notItself(db, 'm', 'o')}
  union all
  select m.ref, m.name, m.uuid, null, n.target_id, n.ref, n.name
  from machine m join machine n on n.uuid = m.uuid and n.uuid <> '' and n.id <> m.id
  where m.target_id = ${siteId}::uuid and m.gone_at is null and m.power = 'on' and ${tellsApart(db, db`m.uuid`)}
    and n.gone_at is null and n.power = 'on' and ${notItself(db, 'm', 'n')}
  union all
  select m.ref, m.name, m.uuid, m.mac, o.site_id, o.ref, o.name
  from (select target_id, ref, name, uuid, unnest(macs) as mac from machine
      where target_id = ${siteId}::uuid and gone_at is null and power = 'on') m
    join instance_identity d on d.kind = 'mac' and d.value = m.mac
    join instance o on o.id = d.instance_id
  where ${isOn(db, 'o')} and ${notItself(db, 'm', 'o')}
  union all
  select m.ref, m.name, m.uuid, m.mac, n.target_id, n.ref, n.name
  from (select target_id, ref, name, uuid, unnest(macs) as mac from machine
      where target_id = ${siteId}::uuid and gone_at is null and power = 'on') m
    join (select target_id, ref, name, unnest(macs) as mac from machine where gone_at is null and power = 'on') n
      on n.mac = m.mac and n.target_id <> m.target_id
  where ${notItself(db, 'm', 'n')}`

/** Machines of a site that run while another machine with their UUID, or elsewhere with their MAC address, runs too. */
export const findRunningTwice = async (
  db: Queryable,
  site: { readonly id: string; readonly role: string },
  most: number,
): Promise<RunningTwice[]> => db<RunningTwice[]>`
  select distinct on (t.ref, t.other_site_id, t.other_ref) t.*, s.name as other_site
  from (${site.role === 'source' ? ofSource(db, site.id) : ofTarget(db, site.id)}) t
    join site s on s.id = t.other_site_id
  order by t.ref, t.other_site_id, t.other_ref, t.mac nulls first limit ${most}`

/** How many there are by the last readings. Both sides of a pair report it, each after its own reading. */
export const countRunningTwice = async (db: Queryable): Promise<number> => {
  const [row] = await db<{ count: number }[]>`
    select coalesce(max(told), 0)::int as count from (
      select sum(jsonb_array_length(messages)) as told from warning where type = 'running-twice' group by entity_type) t`
  return row?.count ?? 0
}

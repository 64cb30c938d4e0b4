import type { Queryable } from '../../client.ts'
import { isSource } from '../entries/find-source-entry.ts'

/**
 * Machines that are not in the state of their run policy, the longest due first: seen recently, on a target that
 * answers, idle and not in a migration. Per target, as many as may be requested besides its running operations; a
 * machine that makes no progress does not block others. The first lines are those of the index. A locked machine comes
 * in a later round, and takes no place in this one.
 */
export const findPolicyMachines = async (
  db: Queryable,
  most: { readonly limit: number; readonly openPerTarget: number },
): Promise<string[]> => {
  const rows = await db<{ id: string }[]>`
    with target as materialized (
      select s.id, s.synced_at, s.settings, ${most.openPerTarget} - (
        select count(*) from operation o join machine m on m.id = o.machine_id
        where o.settled_at is null and o.finished_at is null and o.cause = 'policy' and m.target_id = s.id) as room
      from site s where s.role = 'target' and s.connectivity = 'ok'
    )
    select due.id from target t cross join lateral (
      select m.id, m.policy_next_at from machine m
      where m.gone_at is null and m.run_policy <> 'manual' and m.policy_next_at <= now()
        and (case m.run_policy when 'always-off' then m.power = 'on' else m.power = 'off' end)
        and not (m.run_policy = 'always-on-unless-stopped' and (m.stopped_at is not null or m.saved_state is not null))
        and m.target_id = t.id
        -- A reading writes down only what has changed: what it found as it was is as fresh as the reading.
        and greatest(m.seen_at, t.synced_at) > now()
          - greatest(2 * coalesce((t.settings ->> 'sync_interval_seconds')::float8, 600), 3600) * interval '1 second'
        and not exists (select from operation o where o.machine_id = m.id and o.settled_at is null)
        and not exists (select from entry e where e.state <> 'finished'
          and (e.id = m.entry_id or (e.target_id = m.target_id and e.machine_ref = m.ref)))
        and not ${isSource(db)}
      order by m.policy_next_at, m.id limit greatest(t.room, 0) for share of m skip locked
    ) due
    order by due.policy_next_at, due.id limit ${most.limit}`
  return rows.map(({ id }) => id)
}

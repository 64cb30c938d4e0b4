import type { Queryable } from '../../client.ts'
import { isSource } from '../entries/find-source-entry.ts'

/**
 * Machines that are not as their run policy wants them, the longest due first: seen lately, on a target that answers,
 * with nothing done to them and no migration that has them. Of each target as many as may be asked for at once beside
 * what is under way there; one that does not get on takes no other's turn. The first lines are those of the index.
 * One that somebody has locked comes in a later round, and takes no other's place in this one.
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

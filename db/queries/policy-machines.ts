import type { Queryable } from '../client.ts'

/** Operations that run policies have asked for and that have not ended. */
export const countPolicyOperations = async (db: Queryable): Promise<number> => {
  const [row] = await db<{ open: number }[]>`
    select count(*)::int as open from operation where settled_at is null and cause = 'policy'`
  return row?.open ?? 0
}

/**
 * Machines that are not as their run policy wants them, the longest due first: seen lately, on a target that answers,
 * with nothing done to them and no migration that has them. The first lines are those of the index.
 */
export const findPolicyMachines = async (db: Queryable, limit: number): Promise<string[]> => {
  const rows = await db<{ id: string }[]>`
    select m.id from machine m join site s on s.id = m.target_id
    where m.gone_at is null and m.run_policy <> 'manual' and m.policy_next_at <= now()
      and (case m.run_policy when 'always-off' then m.power = 'on' else m.power = 'off' end)
      and not (m.run_policy = 'always-on-unless-stopped' and (m.stopped_at is not null or m.saved_state is not null))
      and s.connectivity = 'ok'
      and m.seen_at > now() - greatest(2 * coalesce((s.settings ->> 'sync_interval_seconds')::float8, 600), 3600)
        * interval '1 second'
      and not exists (select from operation o where o.machine_id = m.id and o.settled_at is null)
      and not exists (select from entry e where e.state <> 'finished'
        and (e.id = m.entry_id or (e.target_id = m.target_id and e.machine_ref = m.ref)))
    order by m.policy_next_at, m.id limit ${limit}`
  return rows.map(({ id }) => id)
}

import type { Db } from '../client.ts'

/** How long, and how often in vain, an evacuation's wish holds. */
export interface WishBounds {
  readonly days: number
  readonly failures: number
}

/**
 * Ends wishes of evacuations that nothing is left of: their machine is gone, or an operation has moved it to another host,
 * or they have stood for too long or failed too often. Tells of each; gives how many. Those that somebody has locked end
 * in a later round.
 */
export const endWishes = async (
  db: Db,
  ask: { readonly bounds: WishBounds; readonly limit: number; readonly actor: string },
): Promise<number> => {
  const { bounds, limit, actor } = ask
  const [row] = await db<{ ended: number }[]>`
    with over as (
      select o.id, why.said from operation o left join machine m on m.id = o.machine_id
      cross join lateral (select case
        when m.id is null or m.gone_at is not null then 'The machine is gone from its target.'
        when m.host <> o.leaves and exists (select from operation mover where mover.machine_id = o.machine_id
          and mover.kind in ('migrate', 'evict', 'wake') and mover.state = 'completed' and mover.finished_at > o.finished_at)
          then 'The machine was moved to another host.'
        when o.finished_at <= now() - ${bounds.days} * interval '1 day'
          then 'It could not come back for ' || ${bounds.days}::int || ' days.'
        when o.failures >= ${bounds.failures} then 'It has failed ' || o.failures || ' times in a row.' end as said) why
      where o.come_back_at is not null and o.finished_at is not null and why.said is not null
      limit ${limit} for update of o skip locked
    ), ended as (
      update operation o set come_back_at = null, updated_at = now()
      from over where o.id = over.id returning o.*, over.said
    ), told as (
      insert into event (type, subject_type, subject_id, actor, reason, detail)
      select 'operation.stays-down', 'operation', id, ${actor}, 'It does not come back. ' || said,
        jsonb_build_object('machine', machine_id, 'kind', kind, 'force', force, 'cause', cause)
      from ended
    )
    select count(*)::int as ended from ended`
  return row?.ended ?? 0
}

import type { Queryable } from '../../client.ts'

/** The position of a pass over operations that ended long ago. */
export interface PruneCursor {
  readonly finishedAt: string
  readonly id: string
}

export const pruneStart: PruneCursor = { finishedAt: '-infinity', id: '00000000-0000-0000-0000-000000000000' }

export interface PrunedOperations {
  readonly operations: number
  /** Where to continue; null: no older ones are left. */
  readonly next: PruneCursor | null
}

/**
 * Reads one batch of operations that ended long ago, the oldest first, and removes those that are not among the latest
 * of an existing machine. Unsettled operations and those to be resumed stay at any age. It continues from a cursor:
 * otherwise every batch would read again what stays.
 */
export const pruneOperations = async (
  db: Queryable,
  options: {
    readonly days: number
    readonly keep: number
    readonly limit: number
    readonly after: PruneCursor
  },
): Promise<PrunedOperations> => {
  const { days, keep, limit, after } = options
  const [row] = await db<
    { operations: number; seen: number; finishedAt: string | null; id: string | null }[]
  >`
    with old as (
      select id, machine_id, finished_at, settled_at, come_back_at from operation
      where finished_at is not null and finished_at < now() - ${days} * interval '1 day'
        and (finished_at, id) > (${after.finishedAt}::text::timestamptz, ${after.id}::uuid)
      order by finished_at, id limit ${limit}
    ), doomed as (
      select o.id from old o where o.settled_at is not null and o.come_back_at is null
        and ((select count(*) from (select from operation newer where newer.machine_id = o.machine_id
            and newer.finished_at is not null and (newer.finished_at, newer.id) > (o.finished_at, o.id)
            limit ${keep}) newest) >= ${keep}
          or not exists (select from machine m where m.id = o.machine_id and m.gone_at is null))
    ), pruned as (
      delete from operation using doomed where operation.id = doomed.id returning 1
    )
    select (select count(*)::int from pruned) as operations, (select count(*)::int from old) as seen,
      last.finished_at::text as finished_at, last.id
    from (select 1) one left join lateral (
      select finished_at, id from old order by finished_at desc, id desc limit 1) last on true`
  const more = row !== undefined && row.seen === limit && row.finishedAt !== null && row.id !== null
  return {
    operations: row?.operations ?? 0,
    next: more ? { finishedAt: row.finishedAt ?? '', id: row.id ?? '' } : null,
  }
}

/**
 * Removes machines that disappeared as long ago as events are kept and that have no operation left. That a certified
 * copy is gone stays known: otherwise its source would count as migrated again, and could never be started.
 */
export const pruneGoneMachines = async (
  db: Queryable,
  options: { readonly days: number; readonly limit: number },
): Promise<number> => {
  const deleted = await db`
    delete from machine where id in (
      select m.id from machine m where m.gone_at < now() - ${options.days} * interval '1 day'
        and not exists (select from operation o where o.machine_id = m.id)
        and not exists (
          select from certificate c join site t on t.id = m.target_id and t.name = c.document -> 'target' ->> 'name'
          where c.document -> 'target' ->> 'machine' = m.ref)
      order by m.gone_at limit ${options.limit} for update skip locked)`
  return deleted.count
}

/** Removes old refusals. */
export const pruneRefusals = async (
  db: Queryable,
  options: { readonly hours: number; readonly limit: number },
): Promise<number> => {
  const deleted = await db`
    delete from operation_refusal where (machine_id, kind, force, reason, asked_by) in (
      select machine_id, kind, force, reason, asked_by from operation_refusal
      where since < now() - ${options.hours} * interval '1 hour'
      order by since limit ${options.limit} for update skip locked)`
  return deleted.count
}

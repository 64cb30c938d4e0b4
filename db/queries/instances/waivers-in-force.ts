import type { Queryable } from '../../client.ts'

export interface WaiverInForce {
  readonly rule: string
  /** Null: the whole fleet. */
  readonly instanceId: string | null
  readonly who: string
  readonly why: string
  readonly until: Date | null
}

/** Waivers in force: those of the whole fleet, and those of these instances. */
export const findWaivers = async (
  db: Queryable,
  instanceIds: readonly string[],
): Promise<WaiverInForce[]> => db<WaiverInForce[]>`
  select rule, instance_id, created_by as who, reason as why, until from waiver
  where (instance_id is null or instance_id = any(${instanceIds as string[]}::uuid[]))
    and (until is null or until > now())`

/** Changes whenever a waiver of the whole fleet is added, removed or expires. */
export const signFleetWaivers = async (db: Queryable): Promise<string> => {
  const [row] = await db<{ signature: string }[]>`
    select coalesce(string_agg(id::text, ',' order by id), '') as signature from waiver
    where instance_id is null and (until is null or until > now())`
  return row?.signature ?? ''
}

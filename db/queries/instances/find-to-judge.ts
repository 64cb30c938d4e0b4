import type { InstanceFacts } from '../../../src/domain/inventory/facts.ts'
import type { InstanceOverrides } from '../../../src/domain/inventory/overrides.ts'
import type { TrackingRecord } from '../../../src/domain/inventory/tracking.ts'
import type { Queryable } from '../../client.ts'

export interface InstanceToJudge {
  readonly id: string
  readonly siteId: string
  readonly facts: InstanceFacts
  readonly overrides: InstanceOverrides
  readonly tracking: TrackingRecord
  readonly ignored: string | null
  readonly gone: boolean
}

/** Locked until the transaction ends, in one order for all. */
export const lockToJudge = async (db: Queryable, ids: readonly string[]): Promise<InstanceToJudge[]> => db<
  InstanceToJudge[]
>`
  select id, site_id, facts, overrides, tracking, ignored, gone_at is not null as gone from instance
  where id = any(${ids as string[]}::uuid[]) order by id for no key update`

export interface StorageAccess {
  readonly siteId: string
  readonly name: string
  readonly accessible: boolean
}

/** Which datastores of these sites are readable. */
export const findStorageAccess = async (
  db: Queryable,
  siteIds: readonly string[],
): Promise<StorageAccess[]> => db<StorageAccess[]>`
  select site_id, name, coalesce((facts->>'accessible')::boolean, false) as accessible from storage
  where site_id = any(${siteIds as string[]}::uuid[]) and gone_at is null`

/** Live instances that were judged by other rules, or with a waiver that no longer counts. */
export const findStaleJudgements = async (
  db: Queryable,
  options: { readonly rulesVersion: string; readonly limit: number },
): Promise<string[]> => {
  const rows = await db<{ id: string }[]>`
    (select id from instance
     where gone_at is null and (rules_version < ${options.rulesVersion} or rules_version > ${options.rulesVersion})
     order by rules_version limit ${options.limit})
    union
    (select f.instance_id from finding f
     where f.waived and not exists (
       select from waiver w where w.rule = f.rule and (w.instance_id is null or w.instance_id = f.instance_id)
         and (w.until is null or w.until > now()))
       and exists (
         select from instance i where i.id = f.instance_id and i.gone_at is null
           and i.overrides->>'ignore_restrictions' is distinct from 'true')
     limit ${options.limit})`
  return rows.map((row) => row.id)
}

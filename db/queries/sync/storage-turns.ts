import type { Tx } from '../../client.ts'
import type { MergeAt } from './merge-instances.ts'

/**
 * Datastores whose readability has changed since instances were judged, and new ones. Read before the stage is merged.
 * A first sync judges as if all were readable, so for it only unreadable ones count.
 */
export const findStorageTurns = async (tx: Tx, at: MergeAt, isFirst: boolean): Promise<string[]> => {
  const rows = await tx<{ name: string }[]>`
    select s.name from inventory_stage s left join storage t on t.id = s.record_id and t.gone_at is null
    where s.job_id = ${at.jobId}::uuid and s.epoch = ${at.epoch}::bigint and s.kind = 'storage'
      and s.action in ('insert', 'update', 'return')
      and (coalesce(s.facts->>'accessible', 'true') <> coalesce(t.facts->>'accessible', 'true')
        or (t.id is null and not ${isFirst}))`
  return rows.map((row) => row.name)
}

/** After the merge: datastores that are gone, and those that new instances name and the platform did not list. */
export const findStorageGaps = async (tx: Tx, at: MergeAt): Promise<string[]> => {
  const rows = await tx<{ name: string }[]>`
    select name from storage
    where site_id = ${at.siteId}::uuid and gone_at is not null and revision = ${at.revision}::bigint
    union
    select used.name from (
      select distinct jsonb_array_elements_text(s.more->'datastores') as name from inventory_stage s
      where s.job_id = ${at.jobId}::uuid and s.epoch = ${at.epoch}::bigint and s.kind = 'instance'
        and s.action = 'insert'
    ) used
    where not exists (
      select from storage t where t.site_id = ${at.siteId}::uuid and t.name = used.name and t.gone_at is null)`
  return rows.map((row) => row.name)
}

/** Live instances of a site with a disk on one of these. */
export const findOnStorage = async (tx: Tx, siteId: string, names: readonly string[]): Promise<string[]> => {
  if (names.length === 0) return []
  const rows = await tx<{ id: string }[]>`
    select i.id from instance i
    where i.site_id = ${siteId}::uuid and i.gone_at is null and exists (
      select from jsonb_array_elements(i.facts->'disks') d
      where d->>'datastore' = any(${names as string[]}::text[]))`
  return rows.map((row) => row.id)
}

import type { Tx } from '../client.ts'
import type { MergeAt } from './merge-instances.ts'

/** Datastores of the stage that can be read now and could not, or the other way round; new ones that cannot. */
export const findStorageTurns = async (tx: Tx, at: MergeAt): Promise<string[]> => {
  const rows = await tx<{ name: string }[]>`
    select s.name from inventory_stage s left join storage t on t.id = s.record_id
    where s.job_id = ${at.jobId}::uuid and s.epoch = ${at.epoch}::bigint and s.kind = 'storage'
      and s.action in ('insert', 'update', 'return')
      and coalesce(s.facts->>'accessible', 'true') <> coalesce(t.facts->>'accessible', 'true')`
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

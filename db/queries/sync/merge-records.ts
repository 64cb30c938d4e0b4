import type { Tx } from '../../client.ts'
import type { RecordTable } from './find-records.ts'
import type { MergeAt } from './merge-instances.ts'

export interface MergedRecords {
  readonly inserted: number
  readonly updated: number
  readonly gone: number
}

/** Merges staged networks, hosts, storage or projects into the inventory, in three statements. */
export const mergeRecords = async (
  tx: Tx,
  table: RecordTable,
  at: MergeAt,
  vanish: 'missing' | 'told' | 'none',
): Promise<MergedRecords> => {
  const staged = tx`
    s.job_id = ${at.jobId}::uuid and s.epoch = ${at.epoch}::bigint and s.kind = ${table}`
  const located = table === 'network'
  const updated = await tx`
    update ${tx(table)} t set name = s.name, hash = s.hash, facts = s.facts, revision = ${at.revision}::bigint,
      ${located ? tx`location = s.facts->>'location',` : tx``} changed_at = now(), gone_at = null
    from inventory_stage s where ${staged} and s.action in ('update', 'return') and t.id = s.record_id`
  const inserted = await tx`
    insert into ${tx(table)} (id, site_id, ref, name, hash, revision, facts ${located ? tx`, location` : tx``})
    select s.record_id, ${at.siteId}::uuid, s.ref, s.name, s.hash, ${at.revision}::bigint, s.facts
      ${located ? tx`, s.facts->>'location'` : tx``}
    from inventory_stage s where ${staged} and s.action = 'insert'`
  if (vanish === 'none') return { inserted: inserted.count, updated: updated.count, gone: 0 }
  const missing =
    vanish === 'missing'
      ? tx`not exists (select from inventory_stage s where ${staged} and s.ref = t.ref and s.action <> 'gone')`
      : tx`exists (select from inventory_stage s where ${staged} and s.ref = t.ref and s.action = 'gone')`
  const gone = await tx`
    update ${tx(table)} t set gone_at = now(), changed_at = now(), revision = ${at.revision}::bigint
    where t.site_id = ${at.siteId}::uuid and t.gone_at is null and ${missing}`
  return { inserted: inserted.count, updated: updated.count, gone: gone.count }
}

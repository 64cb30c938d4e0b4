import type { TrackingRecord } from '../../../src/domain/inventory/tracking.ts'
import type { Tx } from '../../client.ts'

/** The pending facts of an instance, as its record. */
export interface AdoptedRecord {
  readonly id: string
  readonly name: string
  readonly factsText: string
  readonly hash: string
  readonly tracking: TrackingRecord
  readonly uuid: string
  readonly location: string
  readonly os_type: string
  readonly distribution: string
  readonly distribution_version: string
  readonly ignored: string | null
  readonly ignored_detail: string | null
}

/** Adopts the pending facts of an instance as its record, as the next sync would after its release. */
export const adoptRecord = async (tx: Tx, record: AdoptedRecord): Promise<void> => {
  await tx`
    update instance set name = ${record.name}, facts = ${record.factsText}::text::jsonb, hash = ${record.hash},
      uuid = ${record.uuid}, location = ${record.location}, os_type = ${record.os_type},
      distribution = ${record.distribution}, distribution_version = ${record.distribution_version},
      tracking = ${JSON.stringify(record.tracking)}::text::jsonb, pending = null, pending_since = null,
      ignored = case when ${record.ignored}::text is null and ignored = 'duplicate-uuid' then ignored
                     else ${record.ignored} end,
      ignored_detail = case when ${record.ignored}::text is null and ignored = 'duplicate-uuid' then ignored_detail
                            else ${record.ignored_detail} end,
      changed_at = now()
    where id = ${record.id}::uuid`
}

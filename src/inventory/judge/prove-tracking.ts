import { isCopiedRunning } from '../../domain/inventory/copy-way.ts'
import type { InstanceFacts } from '../../domain/inventory/facts.ts'
import type { DiskTracking, TrackingRecord } from '../../domain/inventory/tracking.ts'

/**
 * What a reading proves of each disk's tracking: a change id is given only where changes are written down. A disk
 * without one is not refused by that: tracking may begin with the next start.
 */
export const proveTracking = (facts: InstanceFacts, record: TrackingRecord): TrackingRecord => {
  if (!facts.background_import) return record
  const proved = facts.disks
    .filter(
      (disk) => isCopiedRunning(disk) && !Object.hasOwn(record, disk.key) && (disk.change_id ?? '') !== '',
    )
    .map((disk): [string, DiskTracking] => [disk.key, 'verified'])
  return proved.length > 0 ? { ...record, ...Object.fromEntries(proved) } : record
}

/** The same when somebody has asked: every disk that is copied has an answer now. */
export const verifyTracking = async (
  facts: InstanceFacts,
  askDisk: (key: string) => Promise<boolean>,
): Promise<TrackingRecord> => {
  const record: Record<string, DiskTracking> = {}
  for (const disk of facts.disks.filter(isCopiedRunning)) {
    const tracked = (disk.change_id ?? '') !== '' || (await askDisk(disk.key))
    record[disk.key] = tracked ? 'verified' : 'refused'
  }
  return record
}

export const allVerified = (facts: InstanceFacts, record: TrackingRecord): boolean =>
  facts.background_import && Object.values(record).every((state) => state === 'verified')

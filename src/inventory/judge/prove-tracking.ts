import { isCopiedRunning } from '../../domain/inventory/copy-way.ts'
import type { InstanceFacts } from '../../domain/inventory/facts.ts'
import type { DiskTracking, TrackingRecord } from '../../domain/inventory/tracking.ts'

/**
 * What a reading proves of each disk's tracking: a platform gives a change id only where it tracks changes. A disk
 * without one may still be tracked from its next start on.
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

/** The same after a check that a person requested: every copied disk gets an answer. */
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

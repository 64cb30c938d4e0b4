import { isCopiedRunning } from './copy-way.ts'
import type { DiskFacts, InstanceFacts } from './facts.ts'

/**
 * The result of checking one disk's tracking. A disk without an entry was not checked since it last changed. Kept per
 * disk, because one disk's proof says nothing about another.
 */
export type DiskTracking = 'verified' | 'refused'

/** By the disk's key. */
export type TrackingRecord = Readonly<Record<string, DiskTracking>>

/**
 * The tracking of a whole instance; `verified` only when every disk that is copied while running is. Disks that are
 * copied while off are never tracked.
 */
export type TrackingState = 'off' | 'unverified' | 'refused' | 'verified'

/** Fields that identify a disk. Its fill level and its tracking position change constantly. */
const sameDisk = (a: DiskFacts, b: DiskFacts): boolean =>
  a.key === b.key &&
  a.name === b.name &&
  a.capacity === b.capacity &&
  a.backing === b.backing &&
  a.mode === b.mode &&
  a.shared === b.shared &&
  a.encrypted === b.encrypted &&
  a.datastore === b.datastore

/** Disks that are new, gone or replaced, by key; nothing known about them counts any more. */
export interface DiskChanges {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly resized: readonly string[]
  /** Another file, backing, mode or datastore under the same key. */
  readonly replaced: readonly string[]
}

export const diskChanges = (before: readonly DiskFacts[], after: readonly DiskFacts[]): DiskChanges => {
  const old = new Map(before.map((disk) => [disk.key, disk]))
  const now = new Map(after.map((disk) => [disk.key, disk]))
  const pairs = after.flatMap((disk) => {
    const earlier = old.get(disk.key)
    return earlier && !sameDisk(earlier, disk) ? [{ earlier, disk }] : []
  })
  return {
    added: after.filter((disk) => !old.has(disk.key)).map((disk) => disk.key),
    removed: before.filter((disk) => !now.has(disk.key)).map((disk) => disk.key),
    resized: pairs
      .filter(({ earlier, disk }) => earlier.capacity !== disk.capacity)
      .map(({ disk }) => disk.key),
    replaced: pairs
      .filter(({ earlier, disk }) => !sameDisk({ ...earlier, capacity: disk.capacity }, disk))
      .map(({ disk }) => disk.key),
  }
}

export const anyDiskChange = (changes: DiskChanges): boolean =>
  changes.added.length + changes.removed.length + changes.resized.length + changes.replaced.length > 0

/** The tracking results that survive a sync: those of disks whose tracking flag and identity did not change. */
export const carryTracking = (
  record: TrackingRecord,
  before: InstanceFacts,
  after: InstanceFacts,
): TrackingRecord => {
  if (before.background_import !== after.background_import) return {}
  const old = new Map(before.disks.map((disk) => [disk.key, disk]))
  const kept = after.disks.flatMap((disk): [string, DiskTracking][] => {
    const earlier = old.get(disk.key)
    const state = Object.hasOwn(record, disk.key) ? record[disk.key] : undefined
    return state !== undefined && earlier && sameDisk(earlier, disk) ? [[disk.key, state]] : []
  })
  return Object.fromEntries(kept)
}

export const trackingState = (facts: InstanceFacts, record: TrackingRecord): TrackingState => {
  const disks = facts.disks.filter(isCopiedRunning)
  if (!facts.background_import || disks.length === 0) return 'off'
  const states = disks.map((disk) => (Object.hasOwn(record, disk.key) ? record[disk.key] : undefined))
  if (states.includes('refused')) return 'refused'
  return states.every((state) => state === 'verified') ? 'verified' : 'unverified'
}

import type { DiskFacts } from './facts.ts'

/**
 * How the bytes of a disk are copied. `while-running`: from a snapshot, then its changes. `while-off`: in full, after
 * the power-off, because no snapshot holds the disk. `never`: nothing that can be read would be a complete copy.
 */
export const copyWays = ['while-running', 'while-off', 'never'] as const
export type CopyWay = (typeof copyWays)[number]

type Attached = Pick<DiskFacts, 'backing' | 'mode' | 'shared' | 'unreadable'>

/** Why a disk can never be copied, as the rest of a sentence; undefined: it can. */
export const whyNeverCopied = ({ backing, mode, shared, unreadable }: Attached): string | undefined => {
  if (backing === 'raw') return 'is a raw device of the host'
  if (backing === 'raw-mapping') return 'maps a LUN'
  if (backing === 'unknown') return 'has an unknown backing'
  if (shared) return 'is shared with other machines, which write to it'
  return mode === 'unknown' ? 'has an unknown mode' : unreadable
}

export const copyWay = (disk: Attached): CopyWay => {
  if (whyNeverCopied(disk) !== undefined) return 'never'
  return disk.mode === 'independent' ? 'while-off' : 'while-running'
}

export const isCopied = (disk: Attached): boolean => copyWay(disk) !== 'never'

/** Whether snapshots hold the disk: it is copied before the power-off, and its changes can be tracked. */
export const isCopiedRunning = (disk: Attached): boolean => copyWay(disk) === 'while-running'

/** What filters and placement scripts see of a disk besides its facts. */
export const diskFieldsOf = (disk: Attached): { readonly supported: boolean; readonly copied: CopyWay } => ({
  supported: isCopiedRunning(disk),
  copied: copyWay(disk),
})

/** Bytes that a copy reads of a disk: its data, where the platform knows. */
const bytesOf = ({ used, capacity }: Pick<DiskFacts, 'used' | 'capacity'>): number => used ?? capacity

export interface CopiedBytes {
  /** Of all disks that are copied. */
  readonly all: number
  /** The part that is read after the power-off at the earliest. */
  readonly whileOff: number
}

/** `tracked`: disks in snapshots are copied before the power-off; otherwise everything is copied after it. */
export const copiedBytes = (disks: readonly DiskFacts[], tracked: boolean): CopiedBytes => {
  const sum = (some: readonly DiskFacts[]) => some.reduce((total, disk) => total + bytesOf(disk), 0)
  const all = disks.filter(isCopied)
  return { all: sum(all), whileOff: sum(tracked ? all.filter((disk) => !isCopiedRunning(disk)) : all) }
}

import type { Queryable, Tx } from '../../client.ts'
import type { EntryRow, entryDisk } from '../../schema/migration.ts'

/** How far the copy of a disk is that is under way, or was last. */
export interface DiskCycle {
  /** Counts the cycles of an entry; part of its snapshots' names. */
  readonly n: number
  readonly state: 'open' | 'whole'
  /** The job whose cycle it is: another one's snapshot is not built on. */
  readonly job: string
  readonly opened_at: string
  /** The snapshot that is read, once it is there. */
  readonly snapshot: string | null
  /** The newest cycle that was written whole; 0: none was. */
  readonly whole: number
  /** Extents that may have been written without a record of it. */
  readonly doubt: readonly number[]
  /** What it had to send, once it is whole. */
  readonly bytes?: number
  /** What was read back of it; gone with the next cycle. */
  readonly proof?: DiskProof
}

/** The evidence that a disk of a target is what was read from the source. */
export interface DiskProof {
  readonly job: string
  /** SHA-256, hexadecimal, over the digests of all extents. */
  readonly source: string
  readonly target: string
  /** Extents that were written; the others are zeros. */
  readonly copied: number
  readonly read_at: string
  /** The machine was started after it was read: from then on it writes for itself. */
  readonly started: boolean
}

export type EntryDiskRow = Omit<typeof entryDisk.$inferSelect, 'cycle'> & { readonly cycle: DiskCycle | null }

export const listEntryDisks = async (db: Queryable, entryId: EntryRow['id']): Promise<EntryDiskRow[]> => db<
  EntryDiskRow[]
>`
  select entry_id, disk, target_disk, capacity, change_id, cycle from entry_disk
  where entry_id = ${entryId}::uuid order by disk`

/** The caller has proved its lease in the same transaction. */
export const writeDiskCycle = async (
  tx: Tx,
  disk: { readonly entryId: string; readonly disk: string; readonly cycle: DiskCycle },
): Promise<void> => {
  await tx`
    update entry_disk set cycle = ${JSON.stringify(disk.cycle)}::text::jsonb
    where entry_id = ${disk.entryId}::uuid and disk = ${disk.disk}`
}

/** The copy of a disk is whole: the next one goes on from there. */
export const endDiskCycle = async (
  tx: Tx,
  disk: {
    readonly entryId: string
    readonly disk: string
    readonly cycle: DiskCycle
    readonly changeId: string | null
  },
): Promise<void> => {
  await tx`
    update entry_disk set cycle = ${JSON.stringify(disk.cycle)}::text::jsonb, change_id = ${disk.changeId}
    where entry_id = ${disk.entryId}::uuid and disk = ${disk.disk}`
}

/** Nothing is copied any more: the machine that had it is gone. */
export const deleteEntryDisks = async (tx: Tx, entryId: string): Promise<void> => {
  await tx`
    with extents as (delete from entry_extent where entry_id = ${entryId}::uuid)
    delete from entry_disk where entry_id = ${entryId}::uuid`
}

/** Extents of the target that are not what was written are copied again; too many to name: all of the disk. */
export const setBackDisk = async (
  tx: Tx,
  row: EntryDiskRow,
  different: { readonly count: number; readonly at: readonly number[] },
): Promise<void> => {
  if (!row.cycle) return
  const { proof: _proof, ...cycle } = row.cycle
  const named = different.count === different.at.length
  const doubt = [...new Set([...cycle.doubt, ...different.at])]
  await endDiskCycle(tx, {
    entryId: row.entryId,
    disk: row.disk,
    cycle: { ...cycle, doubt },
    changeId: named ? row.changeId : null,
  })
}

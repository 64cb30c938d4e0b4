import type { Queryable, Tx } from '../../client.ts'
import type { EntryRow, entryDisk } from '../../schema/migration.ts'

/** The progress of the current or last copy of a disk. */
export interface DiskCycle {
  /** Counts the cycles of an entry; part of the names of its snapshots. */
  readonly n: number
  readonly state: 'open' | 'whole'
  /** The job of the cycle: another job's snapshot is not continued. */
  readonly job: string
  readonly opened_at: string
  /** The snapshot that is read, once it exists. */
  readonly snapshot: string | null
  /** The newest complete cycle; 0: none. */
  readonly whole: number
  /** Extents that may have been written without a record. */
  readonly doubt: readonly number[]
  /** What the cycle had to send, once complete. */
  readonly bytes?: number
  /** The proof read back from the target; dropped with the next cycle. */
  readonly proof?: DiskProof
}

/** The evidence that a disk of a target equals what was read from the source. */
export interface DiskProof {
  readonly job: string
  /** SHA-256, hexadecimal, over the digests of all extents. */
  readonly source: string
  readonly target: string
  /** Written extents; the others are zeros. */
  readonly copied: number
  readonly read_at: string
  /** The machine was started after the read: from then on it changes its own disks. */
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

/** The copy of a disk is complete: the next one builds on it. */
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

/** Forgets the copies: their machine is gone. */
export const deleteEntryDisks = async (tx: Tx, entryId: string): Promise<void> => {
  await tx`
    with extents as (delete from entry_extent where entry_id = ${entryId}::uuid)
    delete from entry_disk where entry_id = ${entryId}::uuid`
}

/** Extents of the target that differ are copied again; if there are too many to list, the whole disk. */
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

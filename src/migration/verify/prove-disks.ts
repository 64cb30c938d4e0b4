import {
  type DiskProof,
  type EntryDiskRow,
  listEntryDisks,
  setBackDisk,
  writeDiskCycle,
} from '../../../db/queries/copies/entry-disks.ts'
import { readClock } from '../../../db/queries/fleet/read-clock.ts'
import { DroverError } from '../../errors.ts'
import { targetOf } from '../copy/copy-task.ts'
import { compareExtents } from './compare-extents.ts'
import type { VerifyTask } from './verify-task.ts'

/** Where a disk of the target differs from the copy. */
export interface DiskDifference {
  readonly disk: string
  readonly count: number
  /** Numbers of the extents. */
  readonly at: readonly number[]
}

export type DisksProved =
  | { readonly is: 'same'; readonly disks: readonly ProvedDisk[] }
  | { readonly is: 'different'; readonly differences: readonly DiskDifference[] }

export interface ProvedDisk {
  readonly row: EntryDiskRow
  readonly proof: DiskProof
}

/**
 * Reads the target's disks back and compares them with what was read from the source, extent by extent. Once the
 * target has run, its disks differ: the proof from before its first start counts until something is copied again.
 */
export const proveDisks = async (task: VerifyTask): Promise<DisksProved> => {
  const { ctx, entry, facts } = task.entryWork
  const rows = await listEntryDisks(ctx.db, entry.id)
  for (const { key } of facts.disks) if (!rows.some(({ disk }) => disk === key)) throw notCopied(key)
  const total = rows.reduce((sum, { capacity }) => sum + capacity, 0)
  let before = 0
  const disks: ProvedDisk[] = []
  const differences: DiskDifference[] = []
  for (const row of rows) {
    const known = row.cycle?.proof
    const counts = known && (known.started || known.job === ctx.job.id)
    const tell = (done: number) => ctx.progress({ done: before + done, total, phase: 'verify' })
    const read = counts ? undefined : await readBack(task, row, tell)
    if (read?.different.count) differences.push(read.different)
    else disks.push({ row, proof: known && counts ? known : await keepProof(task, row, read) })
    before += row.capacity
    tell(0)
  }
  return differences.length > 0 ? { is: 'different', differences } : { is: 'same', disks }
}

/**
 * Marks what a target has written since its start as doubtful, so that the next copy overwrites it. The caller has
 * proved the target off.
 */
export const doubtWhatRan = async (task: VerifyTask): Promise<void> => {
  const { ctx, entry } = task.entryWork
  const rows = await listEntryDisks(ctx.db, entry.id)
  for (const row of rows) {
    if (!row.cycle?.proof?.started) continue
    const { different } = await readBack(task, row, () => {})
    await ctx.transaction(async (tx) => {
      const now = (await listEntryDisks(tx, entry.id)).find(({ disk }) => disk === row.disk)
      if (now?.cycle?.n === row.cycle?.n && now) await setBackDisk(tx, now, different)
    })
  }
}

interface ReadBack {
  readonly different: DiskDifference
  readonly source: string
  readonly target: string
  readonly copied: number
}

const readBack = async (
  task: VerifyTask,
  row: EntryDiskRow,
  tell: (done: number) => void,
): Promise<ReadBack> => {
  const { platform, name, ref: machine } = targetOf(task)
  const end = { platform, name, ref: { machine, disk: row.targetDisk }, called: 'back' }
  const { count, at, expected, seen, copied } = await compareExtents(task, row, end, { tell })
  return { different: { disk: row.disk, count, at }, source: expected, target: seen, copied }
}

const keepProof = (task: VerifyTask, row: EntryDiskRow, read: ReadBack | undefined): Promise<DiskProof> => {
  const { ctx, entry } = task.entryWork
  return ctx.transaction(async (tx) => {
    const now = (await listEntryDisks(tx, entry.id)).find(({ disk }) => disk === row.disk)
    if (!now?.cycle || !read || now.cycle.n !== row.cycle?.n) throw notCopied(row.disk)
    const proof: DiskProof = {
      job: ctx.job.id,
      source: read.source,
      target: read.target,
      copied: read.copied,
      read_at: (await readClock(tx)).toISOString(),
      started: false,
    }
    await writeDiskCycle(tx, { entryId: entry.id, disk: row.disk, cycle: { ...now.cycle, proof } })
    return proof
  })
}

const notCopied = (disk: string): DroverError =>
  new DroverError({
    code: 'disk-not-copied',
    class: 'conflict',
    message: `Disk ${disk} has no whole copy.`,
    remedy: 'Cancel the entry with cleanup, then retry it: all of it is copied anew.',
    detail: { disk },
  })

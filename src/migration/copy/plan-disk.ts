import type { DiskCycle, EntryDiskRow } from '../../../db/queries/copies/entry-disks.ts'
import { recordedExtents } from '../../../db/queries/copies/entry-extents.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import type { ChangedBlocks, DiskRef } from '../../platforms/ports/disks.ts'
import { cannotTellChanges } from '../../platforms/ports/platform-error.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import { type CopyTask, callOf, sourceOf, taskMs } from './copy-task.ts'
import { ExtentMap } from './extent-map.ts'

/** What a cycle has to send of one disk. */
export interface DiskPlan {
  readonly row: EntryDiskRow
  readonly cycle: DiskCycle
  readonly ref: DiskRef
  /** The extents still to be sent. */
  readonly extents: ExtentMap
  /** Bytes of the whole cycle, and the part that an earlier try has sent. */
  readonly total: number
  readonly sent: number
  /** The tracking position at the snapshot; null: the disk is not tracked. */
  readonly changeId: string | null
  /** `reset`: the disk had a position, and tracking was restarted since. */
  readonly how: 'changes' | 'all' | 'reset'
}

/** Finds what has to be sent, including whatever an unfinished earlier cycle has left on the target. */
export const planDisk = async (
  task: CopyTask,
  row: EntryDiskRow,
  open: { readonly cycle: DiskCycle; readonly held: boolean },
): Promise<DiskPlan> => {
  const { cycle, held } = open
  const { ref: machine } = sourceOf(task)
  const ref: DiskRef =
    cycle.snapshot === null
      ? { machine, disk: row.disk }
      : { machine, disk: row.disk, snapshot: cycle.snapshot }
  const extents = new ExtentMap(row.capacity)
  // A disk outside every snapshot is not tracked either, whatever the platform says.
  const seen = held ? await lookAt(task, row, ref, extents) : await everything(task, ref, extents)
  const { ctx, entry } = task.entryWork
  const recorded = (fromCycle: number, toCycle: number) =>
    recordedExtents(ctx.db, { entryId: entry.id, disk: row.disk, fromCycle, toCycle })
  // Extents written earlier may be zeros by now: on the target they still hold the old data.
  for await (const page of recorded(seen.how === 'changes' ? cycle.whole + 1 : 0, cycle.n - 1))
    for (const at of page) extents.add(at)
  for (const at of cycle.doubt) extents.add(at)
  const total = extents.bytes
  for await (const page of recorded(cycle.n, cycle.n)) for (const at of page) extents.delete(at)
  return { row, cycle, ref, extents, total, sent: total - extents.bytes, ...seen }
}

const lookAt = async (task: CopyTask, row: EntryDiskRow, ref: DiskRef, into: ExtentMap) => {
  if (row.changeId !== null) {
    const changed = await changedSince(task, ref, row.changeId)
    if (changed) return fill(into, changed, 'changes')
  }
  const how = row.changeId === null ? 'all' : 'reset'
  const used = await changedSince(task, ref, '*')
  return used ? fill(into, used, how) : ({ ...(await everything(task, ref, into)), how } as const)
}

/** Every extent that may hold data, where changes are not tracked. */
const everything = async (task: CopyTask, ref: DiskRef, into: ExtentMap) => {
  const disks = portOf(task.ends.source, 'disks')
  // Restarted when interrupted: extents added so far stay correct.
  const readAll = async () => {
    for await (const page of disks.extents(callOf(task, 'extents', taskMs), ref))
      for (const extent of page) into.addBytes(extent)
  }
  await again(task.entryWork.ctx, readAll, { of: task.entryWork.source.name })
  return { changeId: null, how: 'all' } as const
}

const fill = <How extends DiskPlan['how']>(into: ExtentMap, changed: ChangedBlocks, how: How) => {
  for (const extent of changed.extents) into.addBytes(extent)
  return { changeId: changed.changeId, how }
}

/** The changes; undefined: the platform cannot tell, for this disk or from this position. */
const changedSince = async (
  task: CopyTask,
  ref: DiskRef,
  changeId: string,
): Promise<ChangedBlocks | undefined> => {
  if (!task.ends.source.capabilities.has('changed-blocks')) return undefined
  const disks = portOf(task.ends.source, 'disks')
  const call = callOf(task, `changes-${ref.disk}`, taskMs)
  try {
    return await again(call, () => disks.changedBlocks(call, ref, changeId), {
      of: task.entryWork.source.name,
    })
  } catch (error) {
    if (cannotTellChanges(error)) return undefined
    throw error
  }
}

import type { Tx } from '../../../db/client.ts'
import {
  type DiskCycle,
  type EntryDiskRow,
  endDiskCycle,
  listEntryDisks,
  writeDiskCycle,
} from '../../../db/queries/copies/entry-disks.ts'
import { readClock } from '../../../db/queries/fleet/read-clock.ts'
import { isCopiedRunning } from '../../domain/inventory/copy-way.ts'
import { PaceMeter } from '../../domain/migration/schedule/progress-pace.ts'
import { DroverError } from '../../errors.ts'
import { isAbsent } from '../../platforms/ports/platform-error.ts'
import type { CopyTask } from './copy-task.ts'
import { type DiskPlan, planDisk } from './plan-disk.ts'
import { sendDisk } from './send-disk.ts'
import { snapshotStands, takeSnapshot } from './source-snapshot.ts'

/** A complete copy of the changes, as old as its start. */
export interface CopiedCycle {
  readonly n: number
  readonly takenAt: Date
  readonly bytes: number
  /** How long the copy took; null: it was interrupted, so the time is not known. */
  readonly tookMs: number | null
  /** Disks that were copied in full, because their change tracking was reset. */
  readonly reset: readonly string[]
}

/** How many times the snapshot may disappear during a copy before the job is retried later. */
const snapshotsLost = 2

export interface CycleAsk {
  /** The cycle of this job that was not good enough. */
  readonly after?: number
  /** The source is off: disks outside every snapshot are copied too, in full and from the machine itself. */
  readonly sourceOff: boolean
}

/**
 * Copies what changed on the source since the last complete cycle: takes a snapshot, then copies every disk extent by
 * extent. Continues an interrupted try of this job as long as its snapshot exists.
 */
export const copyCycle = async (task: CopyTask, ask: CycleAsk): Promise<CopiedCycle> => {
  for (let lost = 0; ; lost += 1) {
    const disks = await openCycle(task, ask)
    const [first] = disks
    if (first.cycle.state === 'whole' && disks.every(({ cycle }) => cycle.state === 'whole'))
      return wholeCycle(first.cycle, sentBefore(disks))
    try {
      return await copyOnce(task, await withSnapshot(task, disks, ask))
    } catch (error) {
      const mayBeLost = isAbsent(error) && lost < snapshotsLost && disks.some(({ held }) => held)
      if (!mayBeLost || (await snapshotStands(task, first.cycle.n))) throw error
      await abandon(task)
    }
  }
}

const wholeCycle = ({ n, opened_at }: DiskCycle, bytes: number): CopiedCycle => ({
  n,
  takenAt: new Date(opened_at),
  bytes,
  tookMs: null,
  reset: [],
})

/** Bytes of the disks that an earlier try has copied completely. */
const sentBefore = (disks: readonly OpenDisk[]): number =>
  disks.reduce((sum, { cycle }) => sum + (cycle.state === 'whole' ? (cycle.bytes ?? 0) : 0), 0)

interface OpenDisk extends EntryDiskRow {
  readonly cycle: DiskCycle
  /** Read from a snapshot; otherwise from the machine itself. */
  readonly held: boolean
}
type OpenDisks = readonly [OpenDisk, ...OpenDisk[]]

/** The open cycle, or the next one. */
const openCycle = (task: CopyTask, { after = 0, sourceOff }: CycleAsk): Promise<OpenDisks> => {
  const { ctx, entry, facts } = task.entryWork
  const apart = new Set(facts.disks.filter((disk) => !isCopiedRunning(disk)).map(({ key }) => key))
  return ctx.transaction(async (tx) => {
    const rows = await listEntryDisks(tx, entry.id)
    const job = ctx.job.id
    const owned = rows.flatMap(({ cycle }) => (cycle?.job === job && cycle.n > after ? [cycle] : []))
    const [own] = owned
    const n = own ? own.n : 1 + Math.max(0, ...rows.map(({ cycle }) => cycle?.n ?? 0))
    const openedAt = own?.opened_at ?? (await readClock(tx)).toISOString()
    const taken = owned.find(({ snapshot }) => snapshot !== null)?.snapshot ?? null
    const disks: OpenDisk[] = []
    for (const row of rows) {
      const held = !apart.has(row.disk)
      if (!held && !sourceOff) continue
      const opened = { n, job, opened_at: openedAt, snapshot: held ? taken : null }
      const cycle = row.cycle?.n === n ? row.cycle : await openDisk(tx, row, opened)
      disks.push({ ...row, cycle, held })
    }
    const [first, ...others] = disks
    if (first) return [first, ...others] as const
    throw new DroverError({
      code: 'entry-without-disks',
      class: 'conflict',
      message: 'The entry has no disk that can be copied now.',
      remedy:
        'Look at the disks of the instance and sync its source, then retry the entry: it is judged and placed anew.',
    })
  })
}

const openDisk = async (
  tx: Tx,
  row: EntryDiskRow,
  opened: Pick<DiskCycle, 'n' | 'job' | 'opened_at' | 'snapshot'>,
): Promise<DiskCycle> => {
  const before = row.cycle
  const cycle: DiskCycle = {
    ...opened,
    state: 'open',
    whole: before?.whole ?? 0,
    // Whatever an abandoned cycle may have written is overwritten.
    doubt: before?.doubt ?? [],
  }
  await writeDiskCycle(tx, { entryId: row.entryId, disk: row.disk, cycle })
  return cycle
}

/** The snapshot from before a crash, or a new snapshot with the name of the cycle; none if it would hold no disk. */
const withSnapshot = async (task: CopyTask, disks: OpenDisks, ask: CycleAsk): Promise<OpenDisks> => {
  const { ctx, entry } = task.entryWork
  const cycle = disks.find(({ held }) => held)?.cycle
  if (!cycle) return disks
  if (cycle.snapshot !== null) {
    if (await snapshotStands(task, cycle.n)) return disks
    await abandon(task)
    return withSnapshot(task, await openCycle(task, { ...ask, after: cycle.n }), ask)
  }
  const snapshot = await takeSnapshot(task, cycle.n)
  const [first, ...others] = disks.map((disk) =>
    disk.held ? { ...disk, cycle: { ...disk.cycle, snapshot } } : disk,
  )
  if (!first) throw new Error('A cycle has no disks.')
  await ctx.transaction(async (tx) => {
    for (const disk of [first, ...others])
      await writeDiskCycle(tx, { entryId: entry.id, disk: disk.disk, cycle: disk.cycle })
  })
  return [first, ...others]
}

/** Somebody removed the snapshot: what was copied from it stays, and the rest is read from a new one. */
const abandon = (task: CopyTask): Promise<void> => {
  const { ctx, entry } = task.entryWork
  return ctx.transaction(async (tx) => {
    // Without a job, so that no job continues this cycle.
    for (const { disk, cycle } of await listEntryDisks(tx, entry.id))
      if (cycle) await writeDiskCycle(tx, { entryId: entry.id, disk, cycle: { ...cycle, job: '' } })
  })
}

const copyOnce = async (task: CopyTask, disks: OpenDisks): Promise<CopiedCycle> => {
  const { ctx } = task.entryWork
  const begunMs = ctx.clock.monotonicMs()
  const plans: DiskPlan[] = []
  for (const disk of disks) {
    ctx.safePoint()
    if (disk.cycle.state === 'open') plans.push(await planDisk(task, disk, disk))
  }
  const before = sentBefore(disks)
  const total = plans.reduce((sum, plan) => sum + plan.total, before)
  const tell = teller(
    task,
    total,
    plans.reduce((sum, plan) => sum + plan.sent, before),
  )
  await together(task, (paced) => plans.map((plan) => copyDisk(paced, plan, tell)))
  const [{ cycle }] = disks
  const reset = plans.filter(({ how }) => how === 'reset').map(({ row }) => row.disk)
  const isWhole = plans.length === disks.length && plans.every(({ sent }) => sent === 0)
  const tookMs = isWhole ? ctx.clock.monotonicMs() - begunMs : null
  return { n: cycle.n, takenAt: new Date(cycle.opened_at), bytes: total, tookMs, reset }
}

/** Reports progress and rate of a copy. Bytes sent by an earlier try count as done, not towards the rate. */
const teller = ({ entryWork: { ctx }, phase }: CopyTask, total: number, sent: number) => {
  const meter = new PaceMeter(ctx.clock.monotonicMs())
  let done = sent
  ctx.progress({ done, total, phase })
  return (bytes: number): void => {
    done += bytes
    meter.add(ctx.clock.monotonicMs(), bytes)
    const { rate } = meter
    ctx.progress({ done, total, phase, ...(rate === null ? {} : { rate }) })
  }
}

/** Sends a disk. The next cycle builds on this one only if the disk is complete. */
const copyDisk = async (task: CopyTask, plan: DiskPlan, tell: (bytes: number) => void): Promise<void> => {
  await sendDisk(task, plan, tell)
  const { ctx, entry } = task.entryWork
  const { cycle, row, changeId } = plan
  await ctx.transaction((tx) =>
    endDiskCycle(tx, {
      entryId: entry.id,
      disk: row.disk,
      changeId,
      cycle: { ...cycle, state: 'whole', whole: cycle.n, doubt: [], bytes: plan.total },
    }),
  )
}

/** Sends all disks at once. Throws the first failure after the other disks have stopped at their next extent. */
const together = async (
  task: CopyTask,
  begin: (paced: CopyTask) => readonly Promise<void>[],
): Promise<void> => {
  let failed: { readonly error: unknown } | undefined
  const pace = async () => {
    if (failed) throw failed.error
    await task.pace()
  }
  const note = (error: unknown) => {
    failed ??= { error }
  }
  await Promise.all(begin({ ...task, pace }).map((work) => work.catch(note)))
  if (failed) throw (failed as { readonly error: unknown }).error
}

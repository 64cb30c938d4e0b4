import { z } from 'zod'
import { findOpenEffects, settleEffect } from '../../../db/queries/effects/effects.ts'
import { loadSiteById } from '../../../db/queries/sites/load-site.ts'
import type { EffectRow } from '../../../db/schema/effect.ts'
import { asDroverError, DroverError, FencedError, recordError } from '../../errors.ts'
import { awaitTaskOf } from '../../ledger/ended-task.ts'
import { actorOf, callBy, type JobCall, type JobContext, type Undoer } from '../../ledger/job.ts'
import { finishTask } from '../../ledger/platform-task.ts'
import { failuresInCheckpoint } from '../../ledger/task-record.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import type { SnapshotRef } from '../../platforms/ports/machines.ts'
import { isAbsent } from '../../platforms/ports/platform-error.ts'
import { type Platform, portOf } from '../../platforms/ports/ports.ts'
import { storableJson } from '../../storable.ts'
import { type CopyTask, callOf, sourceOf, taskMs } from './copy-task.ts'

/** Effects of this kind are snapshots of a source that exist only to be read. */
export const snapshotKind = 'source-snapshot'

/** The prefix of an entry's snapshot names. No other snapshot has it, so the name proves the owner. */
export const snapshotPrefix = (entryId: string): string => `drover-${entryId}-`

const undoSchema = z.object({ site_id: z.string(), machine: z.string(), snapshot: z.string() })

/**
 * The name of a cycle's snapshot. Cycles are counted from 1 after each placement, so the name carries the job: a
 * leftover of an earlier job is never mistaken for it. Older versions left the job out; a snapshot that this job has
 * intended under such a name keeps it.
 */
export const snapshotName = async ({ entryWork: { ctx, entry } }: CopyTask, n: number): Promise<string> => {
  const prefix = snapshotPrefix(entry.id)
  const open = ctx.job.leaseEpoch > 1 ? await findOpenEffects(ctx.db, ctx.job.id) : []
  const older = open.some(({ kind, undo }) => kind === snapshotKind && undo?.snapshot === `${prefix}${n}`)
  // The end of the id, which is random; platforms allow 80 characters.
  return older ? `${prefix}${n}` : `${prefix}${ctx.job.id.slice(-12)}-${n}`
}

/** The name of a cycle's snapshot, and how to look for it. */
const snapshotOf = async (task: CopyTask, n: number) => {
  const { platform, ref: machine } = sourceOf(task)
  const name = await snapshotName(task, n)
  return { name, find: (call: JobCall) => findSnapshot(platform, call, { machine, name }) }
}

export const snapshotStands = async (task: CopyTask, n: number): Promise<boolean> => {
  const { find } = await snapshotOf(task, n)
  return (await find(callOf(task, 'look'))) !== undefined
}

/** Makes the snapshot of a cycle, once over all tries of the job. Gives its ref. */
export const takeSnapshot = async (task: CopyTask, n: number): Promise<string> => {
  const { ctx, source, entry } = task.entryWork
  const { platform, ref: machine } = sourceOf(task)
  const machines = portOf(platform, 'machines')
  const { name, find } = await snapshotOf(task, n)
  const snapshot = { snapshotName: name, memory: false, quiesce: false }
  const part = `snapshot-${n}`
  const made = await finishTask(ctx, {
    part,
    kind: snapshotKind,
    undo: { site_id: source.id, machine, snapshot: name },
    platform: source.name,
    tasks: machines,
    machine,
    verb: 'snapshot',
    turnMs: taskMs,
    older: `${snapshotPrefix(entry.id)}${n}`,
    // The cycle records the result, and the snapshot is removed with the job.
    record: failuresInCheckpoint(ctx, part),
    sentAgain: true,
    begin: (call) => machines.createSnapshot(call, machine, snapshot),
    made: async (call) => {
      const found = await find(call)
      return found ? { found: true, value: found.ref } : { found: false }
    },
  })
  const ref = made ?? (await find(callOf(task, name)))?.ref
  if (ref !== undefined) return ref
  throw new DroverError({
    code: 'source-snapshot-lost',
    class: 'transient',
    message: `The snapshot ${name} was made, and is not there.`,
    remedy:
      'Nothing to do: it is made again. When it happens often, look who removes snapshots of the source.',
  })
}

/** The snapshot of that name, if the machine has it. A machine that is gone throws: it is no answer to this. */
const findSnapshot = async (
  platform: Platform,
  call: JobCall,
  asked: { readonly machine: string; readonly name: string },
): Promise<SnapshotRef | undefined> => {
  const found = await again(call, () => portOf(platform, 'machines').snapshots(call, asked.machine))
  if (found.found) return found.value.find(({ name }) => name === asked.name)
  throw sourceGone(asked.machine)
}

/**
 * Removes the snapshots of this job's cycles from the source. A snapshot that cannot be removed is a debt and does not
 * affect the copy.
 */
export const clearSnapshots = async (task: CopyTask): Promise<number> => {
  const { ctx } = task.entryWork
  const open = (await findOpenEffects(ctx.db, ctx.job.id)).filter(({ kind }) => kind === snapshotKind)
  let debts = 0
  for (const effect of open) debts += (await clearOne(ctx, task.ends.source, effect)) ? 0 : 1
  return debts
}

const clearOne = async (ctx: JobContext, platform: Platform, effect: EffectRow): Promise<boolean> => {
  const settled = { id: effect.id, actor: actorOf(ctx) }
  try {
    await removeOwn(platform, effect, ctx)
    await ctx.transaction((tx) => settleEffect(tx, { ...settled, outcome: 'undone' }))
    return true
  } catch (thrown) {
    ctx.signal.throwIfAborted()
    if (thrown instanceof FencedError) throw thrown
    const error = storableJson(recordError(asDroverError(thrown)))
    await ctx.transaction((tx) => settleEffect(tx, { ...settled, outcome: 'debt', error, delayMs: debtMs }))
    return false
  }
}

const debtMs = 30_000

/** Undoes the creation of a snapshot. A snapshot that is gone counts as undone. */
export const undoSnapshot: Undoer = async (undoing) => {
  const { effect, db, usePlatform } = undoing
  const site = await loadSiteById(db, undoSchema.parse(effect.undo).site_id)
  if (site) await usePlatform(site, (platform) => removeOwn(platform, effect, undoing))
}

type Hand = Pick<JobContext, 'signal' | 'clock' | 'confirm'>

/** By recorded ref and by name, which only we use. There are several when an answer was lost. */
const removeOwn = async (platform: Platform, effect: EffectRow, hand: Hand): Promise<void> => {
  const { machine, snapshot } = undoSchema.parse(effect.undo)
  // The name contains the try, so that a failed removal is started again.
  const called = `${effect.id}/${effect.attempts}/${effect.epoch}`
  const call = callBy(hand, called, taskMs)
  // A snapshot that is still being made would appear only after the look.
  await awaitTaskOf(portOf(platform, 'machines'), call, { effect, machine, verb: 'snapshot' })
  await removeSnapshots(platform, call, { machine, isOurs: ({ name }) => name === snapshot })
}

/** Removes our snapshots of a machine; returns how many there were. */
export const removeSnapshots = async (
  platform: Platform,
  call: JobCall,
  asked: { readonly machine: string; readonly isOurs: (snapshot: SnapshotRef) => boolean },
): Promise<number> => {
  const machines = portOf(platform, 'machines')
  const found = await again(call, () => machines.snapshots(call, asked.machine))
  const ours = found.found ? found.value.filter(asked.isOurs) : []
  for (const { ref } of ours) {
    const named = { ...call, name: `${call.name}/${ref}` }
    try {
      const handle = await again(call, () => machines.removeSnapshot(named, asked.machine, ref))
      await handle.wait(named)
    } catch (error) {
      if (!isAbsent(error)) throw error
    }
  }
  return ours.length
}

export const sourceGone = (ref: string): DroverError =>
  new DroverError({
    code: 'source-gone',
    class: 'conflict',
    message: `The source has no machine ${ref} any more.`,
    remedy: 'Look for the machine, then retry the entry; cancel it when the machine was removed for good.',
    detail: { ref },
  })

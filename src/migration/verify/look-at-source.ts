import { z } from 'zod'
import { listEntryDisks } from '../../../db/queries/copies/entry-disks.ts'
import type { InstanceFacts } from '../../domain/inventory/facts.ts'
import { cleanInstance } from '../../domain/inventory/normalise.ts'
import { type DiskWritten, whyStale } from '../../domain/migration/verify/verify-source.ts'
import { durationMs } from '../../domain/text/duration.ts'
import { powerMachine } from '../../inventory/power/power-machine.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import { cannotTellChanges } from '../../platforms/ports/platform-error.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import type { PowerFacts } from '../../platforms/ports/power.ts'
import { callOf, sourceOf, taskMs } from '../copy/copy-task.ts'
import { noteEntry } from '../entry/entry-work.ts'
import { guestGivenTime, noteSourceOff, sourceStopUndo } from '../source/source-stops.ts'
import { holdEntry, requireWindow } from './hold-entry.ts'
import type { VerifyTask } from './verify-task.ts'

export type SourceLook =
  | { readonly is: 'gone' }
  | { readonly is: 'wait'; readonly forMs: number; readonly forWhat: string }
  /** The copy is older than the source. */
  | { readonly is: 'stale'; readonly why: string }
  | { readonly is: 'there'; readonly facts: InstanceFacts }

/** Reads the source again, switches it off if it runs, and finds whether it has written. Unknown throws. */
export const lookAtSource = async (task: VerifyTask): Promise<SourceLook> => {
  const { platform, name, ref } = sourceOf(task)
  const call = callOf(task, `look-${task.entryWork.ctx.job.id}`)
  const found = await again(call, () => portOf(platform, 'inventory').instance(call, ref), {
    of: name,
  })
  const power = found.found ? await sourcePower(task) : undefined
  if (!found.found || !power) return { is: 'gone' }
  const facts = cleanInstance(found.value).facts
  // A machine with another UUID is compared and never touched.
  if (facts.uuid !== '' && facts.uuid !== task.entryWork.facts.uuid) return { is: 'there', facts }
  const waits = await switchOff(task, power)
  if (waits) return waits
  const { why } = await findStale(task)
  return why === undefined ? { is: 'there', facts } : { is: 'stale', why }
}

/** Undefined: the source does not exist. Unknown throws. */
export const sourcePower = async (task: VerifyTask): Promise<PowerFacts | undefined> => {
  const { platform, name, ref } = sourceOf(task)
  const call = callOf(task, 'look')
  const seen = await again(call, () => portOf(platform, 'power').power(call, ref), { of: name })
  return seen.found ? seen.value : undefined
}

/**
 * Records first that the source ran, so that a crash right after the power-off does not hide it. The end of the entry
 * starts the source again, as `source_stopped_at` says; the end of this job does not, because the entry goes on.
 */
const switchOff = async (task: VerifyTask, seen: PowerFacts): Promise<SourceLook | undefined> => {
  const { ctx, source, batch, facts } = task.entryWork
  const { begun, ended } = countStops(ctx.checkpointed)
  if (begun === ended && seen.state === 'off') return undefined
  const at = begun === ended ? begun + 1 : begun
  if (begun === ended) {
    await noteEntry(
      task.entryWork,
      async (tx, now) => {
        await requireWindow(tx, now)
        return { sourceStoppedAt: now.now, ...guestGivenTime(now.now, task.entryWork) }
      },
      'at-once',
    )
    await ctx.checkpoint({ ...ctx.checkpointed, stops: { begun: at, ended } })
  }
  const outcome = await powerMachine({
    ctx,
    site: source,
    platform: task.ends.source,
    ref: facts.ref,
    asked: { verb: 'shutdown', force: true, timeoutMs: durationMs(batch.config.guest_shutdown_limit) },
    mayStart: 'never',
    part: `source-off-${at}`,
    undo: sourceStopUndo(task.entryWork, { stays: true }),
  })
  if (outcome.type === 'wait') return { is: 'wait', forMs: outcome.forMs, forWhat: outcome.forWhat }
  await noteSourceOff(task.entryWork)
  await ctx.checkpoint({ ...ctx.checkpointed, stops: { begun: at, ended: at } })
  return undefined
}

const storedStops = z.object({ begun: z.int(), ended: z.int() })

const countStops = (checkpointed: Readonly<Record<string, unknown>> | null) => {
  const stored = storedStops.safeParse(checkpointed?.stops)
  return stored.success ? stored.data : { begun: 0, ended: 0 }
}

export interface Staleness {
  /** Why the copy is behind its source; undefined: nothing shows that it is. */
  readonly why: string | undefined
  /** Disks that were not written since the final import according to change tracking, and disks without tracking. */
  readonly proved: readonly string[]
  readonly untold: readonly string[]
}

/**
 * Whether the copy is behind its source now, by change tracking since the final import and by whether the source was
 * seen running since. A source that does not exist has no disks. Unknown throws.
 */
export const findStaleNow = async (task: VerifyTask): Promise<Staleness> =>
  (await sourcePower(task)) ? findStale(task) : { why: undefined, proved: [], untold: [] }

const findStale = async (task: VerifyTask): Promise<Staleness> => {
  const { ctx, entry } = task.entryWork
  const rows = await listEntryDisks(ctx.db, entry.id)
  const { sourceStoppedAt: stopped } = await holdEntry(task.entryWork)
  const ran = rows.some(
    ({ cycle }) => cycle === null || (stopped !== null && new Date(cycle.opened_at) < stopped),
  )
  const disks: { disk: string; written: DiskWritten }[] = []
  for (const { disk, changeId, cycle } of rows)
    disks.push({
      disk,
      written: cycle?.state !== 'whole' ? 'yes' : await wasWritten(task, disk, changeId),
    })
  const those = (written: DiskWritten) =>
    disks.filter((one) => one.written === written).map(({ disk }) => disk)
  return { why: whyStale({ ran, disks }), proved: those('no'), untold: those('unknown') }
}

const wasWritten = async (task: VerifyTask, disk: string, changeId: string | null): Promise<DiskWritten> => {
  const { platform, name, ref: machine } = sourceOf(task)
  if (changeId === null || !platform.capabilities.has('changed-blocks')) return 'unknown'
  const call = callOf(task, `written-${disk}`, taskMs)
  try {
    const changed = await again(
      call,
      () => portOf(platform, 'disks').changedBlocks(call, { machine, disk }, changeId),
      { of: name },
    )
    return changed.extents.length === 0 ? 'no' : 'yes'
  } catch (error) {
    if (cannotTellChanges(error)) return 'unknown'
    throw error
  }
}

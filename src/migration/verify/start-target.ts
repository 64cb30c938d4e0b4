import { z } from 'zod'
import type { Tx } from '../../../db/client.ts'
import { listEntryDisks, writeDiskCycle } from '../../../db/queries/copies/entry-disks.ts'
import { settleEffect } from '../../../db/queries/effects/effects.ts'
import { hastenEntryDebts, listEntryEffects } from '../../../db/queries/effects/entry-effects.ts'
import { isVouchedFor } from '../../../db/queries/entries/is-vouched-for.ts'
import { loadSiteById } from '../../../db/queries/sites/load-site.ts'
import { crashPoint } from '../../crash-point.ts'
import { DroverError } from '../../errors.ts'
import { type PowerOutcome, powerMachine } from '../../inventory/power/power-machine.ts'
import { requireMayStart } from '../../inventory/power/start-guard.ts'
import { actorOf, callBy, type Undoer } from '../../ledger/job.ts'
import { PlatformError, saidNo } from '../../platforms/ports/platform-error.ts'
import { targetOf } from '../copy/copy-task.ts'
import type { EntryWork } from '../entry/entry-work.ts'
import { proveTargetOff, requireOwn, startsOf, targetNotOurs, targetStartKind } from '../target/own-target.ts'
import { holdEntry, requireWindow } from './hold-entry.ts'
import { sourcePower } from './look-at-source.ts'
import type { VerifyTask } from './verify-task.ts'

const undoSchema = z.object({ entry_id: z.string(), target_id: z.string(), machine_ref: z.string() })

/** The time from an accepted start to a running machine. */
const startMs = 30_000
const callMs = 30_000

export type StartOutcome = PowerOutcome | { readonly type: 'failed'; readonly error: DroverError }

/**
 * Starts the target for the `nth` time. Right before the call, the entry must belong to this job and the source must
 * be off, so that no second copy of a machine runs.
 */
export const startTarget = async (task: VerifyTask, nth: number): Promise<StartOutcome> => {
  const { entryWork, ends } = task
  const { entry, target, ctx } = entryWork
  const { ref } = targetOf(task)
  if (!target) throw targetNotOurs(ref)
  try {
    return await powerMachine({
      ctx,
      site: target,
      platform: ends.target,
      ref,
      asked: { verb: 'start', force: false, timeoutMs: startMs },
      mayStart: async () => {
        await mayStart(task)
        crashPoint('target-before-start')
      },
      part: `target-start-${nth}`,
      undo: {
        kind: targetStartKind,
        with: { entry_id: entry.id, target_id: target.id, machine_ref: ref } satisfies z.infer<
          typeof undoSchema
        >,
      },
    })
  } catch (error) {
    const refused =
      saidNo(error) ||
      (error instanceof PlatformError &&
        (error.code === 'platform-fault' || error.code === 'platform-no-capacity')) ||
      (error instanceof DroverError && error.code === 'guest-keeps-running')
    if (refused) return { type: 'failed', error }
    throw error
  }
}

const mayStart = async (task: VerifyTask): Promise<void> => {
  const { entryWork, ends } = task
  const { ctx, entry } = entryWork
  const { ref } = targetOf(task)
  const call = callBy(ctx, `own-${ctx.job.id}`, callMs)
  await requireOwn(ends.target, call, { entryId: entry.id, machineRef: ref })
  await markStarted(task)
  await requireSourceOff(task)
  await requireNoOther(task)
  await holdEntry(entryWork, requireWindow)
}

/** No other copy may run: no copy of an earlier migration and no machine with the same UUID on any site. */
const requireNoOther = async (task: VerifyTask): Promise<void> => {
  const { ctx, entry, target, facts } = task.entryWork
  const { ref } = targetOf(task)
  if (!target) throw targetNotOurs(ref)
  await requireMayStart(ctx, {
    at: { siteId: target.id, ref, uuid: facts.uuid },
    name: facts.target_name,
    by: { jobId: ctx.job.id, entryId: entry.id },
    byItsMigration: true,
  })
}

/** From here on the target changes its own disks: their proof is not repeated. */
const markStarted = ({ entryWork: { ctx, entry } }: VerifyTask): Promise<void> =>
  ctx.transaction(async (tx) => {
    for (const { disk, cycle } of await listEntryDisks(tx, entry.id)) {
      if (!cycle?.proof) throw new Error('A target is started without the proof of its disks.')
      if (cycle.proof.started) continue
      await writeDiskCycle(tx, {
        entryId: entry.id,
        disk,
        cycle: { ...cycle, proof: { ...cycle.proof, started: true } },
      })
    }
  })

/** Throws when the source runs or when its power is unknown. A source that does not exist does not run. */
export const requireSourceOff = async (task: VerifyTask): Promise<void> => {
  const seen = await sourcePower(task)
  if (!seen || seen.state === 'off') return
  throw new DroverError({
    code: 'source-runs',
    class: 'conflict',
    message: `${task.entryWork.facts.name} was switched off for its migration and is ${seen.state} again: its copy does not run beside it.`,
    remedy: 'Find out who started the source, then resolve the entry: what it wrote since is copied first.',
  })
}

/** Whether a debt of an earlier verification will still stop the target. */
export const hasStartDebts = async ({ ctx, entry }: EntryWork): Promise<boolean> => {
  const asked = { entryId: entry.id, kind: targetStartKind, jobId: ctx.job.id }
  return (await ctx.transaction((tx) => hastenEntryDebts(tx, asked))) > 0
}

/**
 * Settles the starts of earlier verifications, which were stopped before this one began. The running machine is
 * certified: no debt stops it, even after the entry is gone.
 */
export const settleStarts = async (tx: Tx, { ctx, entry }: EntryWork): Promise<void> => {
  const effects = await listEntryEffects(tx, { entryId: entry.id, kind: targetStartKind })
  const open = effects.filter(
    // Includes a start of this job that was never answered: the machine runs, whichever start did it.
    ({ jobId, state }) => state === 'intended' || (jobId !== ctx.job.id && ['done', 'debt'].includes(state)),
  )
  for (const { id } of open) await settleEffect(tx, { id, actor: actorOf(ctx), outcome: 'undone' })
}

const undoMs = 50_000

/** Stops a target that is not certified, by recorded ref and tag, and proves that it is off. */
export const undoTargetStart: Undoer = async (undoing) => {
  const { effect, db, confirm, usePlatform } = undoing
  const undo = undoSchema.parse(effect.undo)
  // A debt may be retried long after: by then a later verification may have certified the running machine.
  if (await isVouchedFor(db, undo.entry_id)) return
  const site = await loadSiteById(db, undo.target_id)
  if (!site) return
  const name = `${effect.name}/undo/${effect.attempts}/${effect.epoch}`
  const owned = { entryId: undo.entry_id, machineRef: undo.machine_ref }
  const starts = await startsOf(db, undo.entry_id)
  const stillOwed = async () => {
    if (await isVouchedFor(db, undo.entry_id)) throw vouchedFor(undo.machine_ref)
    crashPoint('undo-before-change')
    confirm()
  }
  await usePlatform(site, (platform) =>
    proveTargetOff(platform, callBy(undoing, name, undoMs), owned, { starts, confirm: stillOwed }),
  )
}

const vouchedFor = (ref: string): DroverError =>
  new DroverError({
    code: 'target-vouched-for',
    class: 'transient',
    message: `The target ${ref} was verified meanwhile: it goes on running.`,
    remedy: 'Nothing to do.',
    detail: { ref },
  })

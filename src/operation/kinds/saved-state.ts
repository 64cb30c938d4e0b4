import { z } from 'zod'
import { findOpenEffects, settleEffect } from '../../../db/queries/effects/effects.ts'
import { clearStaleStates } from '../../../db/queries/machines/clear-stale-states.ts'
import { lockMachine, noteMachine } from '../../../db/queries/machines/machine-rows.ts'
import { savedStateDropKind } from '../../domain/operation/admission/non-blocking-effects.ts'
import type { OperationReason } from '../../domain/operation/kinds/reasons.ts'
import { asDroverError, DroverError, FencedError, recordError } from '../../errors.ts'
import type { Fenced } from '../../ledger/effects.ts'
import { actorOf, type JobCall } from '../../ledger/job.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import type { SavedState } from '../../platforms/ports/hibernate.ts'
import { type Platform, portOf } from '../../platforms/ports/ports.ts'
import type { Found } from '../../platforms/ports/task.ts'
import { storableJson } from '../../storable.ts'
import { callOf } from '../perform/look-at-machine.ts'
import { underMachineLock } from '../perform/machine-lock.ts'
import type { Performance } from '../perform/performer.ts'
import { type AtPlatform, undoerOf, undoTaskShape } from '../perform/undo-task.ts'

const undoSchema = undoTaskShape.extend({ state: z.string() })

const digestForm = /^sha256:[0-9a-f]{64}$/

/** Whether a machine can be woken from the state, as far as can be checked. */
export const isWhole = (saved: Found<SavedState>, machine: string): boolean =>
  saved.found &&
  saved.value.complete &&
  saved.value.machine === machine &&
  saved.value.size > 0 &&
  digestForm.test(saved.value.digest)

/** The checked state; throws an error with a remedy when it is unusable. */
export const requireWhole = async (performance: Performance, ref: string): Promise<SavedState> => {
  const { machine, platform } = performance
  const saved = await portOf(platform, 'hibernate').saved(callOf(performance, 'look'), ref)
  if (saved.found && isWhole(saved, machine.ref)) return saved.value
  throw new DroverError({
    code: 'state-unusable' satisfies OperationReason,
    class: 'conflict',
    message: saved.found
      ? `The saved state ${ref} of ${machine.name} is not complete, or not of this machine.`
      : `The saved state ${ref} of ${machine.name} is not there.`,
    remedy: coldRemedy,
    detail: { state: ref },
  })
}

export const coldRemedy =
  'Look at it on the target. What was in memory is lost when it stays so: then wake the machine with `cold`, or start it where it is not hibernated.'

const debtMs = 30_000

/**
 * Removes a saved state whose machine has provably run since: no machine can be woken from it any more. A failed
 * removal is a debt and does not affect the operation.
 */
export const letSavedGo = async (performance: Performance, state: string): Promise<void> => {
  const { ctx, machine, target, platform } = performance
  try {
    await ctx.effect({
      kind: savedStateDropKind,
      platform: target.name,
      name: `${ctx.job.id}/drop/${state}`,
      undo: { target: target.name, ref: machine.ref, machine_id: machine.id, state },
      observe: async () => ({ found: false }),
      act: async () => {
        // The reference is removed first: a machine must never be woken from a state that is gone.
        await underMachineLock(performance, (tx) => noteMachine(tx, machine.id, { savedState: null }))
        await drop(platform, callOf(performance, 'drop'), state)
        return undefined
      },
    })
  } catch (thrown) {
    ctx.signal.throwIfAborted()
    if (thrown instanceof FencedError) throw thrown
    await oweDrop(performance, thrown)
  }
}

const drop = (platform: Platform, call: JobCall, state: string): Promise<void> =>
  again(call, () => portOf(platform, 'hibernate').dropSaved(call, state))

const oweDrop = async (performance: Performance, thrown: unknown): Promise<void> => {
  const { ctx } = performance
  const error = storableJson(recordError(asDroverError(thrown)))
  const open = (await findOpenEffects(ctx.db, ctx.job.id)).filter(({ kind }) => kind === savedStateDropKind)
  for (const { id } of open)
    await underMachineLock(performance, (tx) =>
      settleEffect(tx, { id, actor: actorOf(ctx), outcome: 'debt', error, delayMs: debtMs }),
    )
}

/** Only states that were proven useless have such an effect. */
export const undoSavedStateDrop = undoerOf(undoSchema, async ({ undo, platform, call, confirm, fenced }) => {
  confirm()
  await forget(fenced, undo)
  await drop(platform, call, undo.state)
})

/** For a machine whose start was observed: even if it is off again, it has written to its disks since. */
export const letOutlivedGo = (
  { effect, fenced }: Pick<AtPlatform, 'effect' | 'fenced'>,
  { machine_id: machineId, state }: { readonly machine_id: string; readonly state: string },
): Promise<void> =>
  fenced(async (tx) => {
    if (await lockMachine(tx, machineId))
      await clearStaleStates(tx, { machineId, outlived: state }, effect.jobId)
  })

/** Clears the reference in the machine's row if it still points to the state. */
const forget = async (fenced: Fenced, undo: z.infer<typeof undoSchema>): Promise<void> => {
  await fenced(async (tx) => {
    const machine = await lockMachine(tx, undo.machine_id)
    if (machine?.savedState === undo.state) await noteMachine(tx, machine.id, { savedState: null })
  })
}

import { z } from 'zod'
import { wasStartedLately } from '../../../db/queries/machines/was-started-lately.ts'
import type { PowerVerb } from '../../domain/job/kinds/power-instance.ts'
import { DroverError } from '../../errors.ts'
import { powerMachine, verbOf } from '../../inventory/power/power-machine.ts'
import { forGuest, forGuestToHear } from '../../inventory/power/power-step.ts'
import { resultOfTask } from '../../ledger/ended-task.ts'
import { isAbsent } from '../../platforms/ports/platform-error.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import type { PowerFacts } from '../../platforms/ports/power.ts'
import { lookAtPower, machineGone, notForPhase } from '../perform/look-at-machine.ts'
import type { Performance, PerformDone, Performer, PerformWait } from '../perform/performer.ts'
import { mostFailures, retryUntilDeadline } from '../perform/retry-until-deadline.ts'
import { noteAsItIs, undoerOf, undoTaskShape } from '../perform/undo-task.ts'
import { letOutlivedGo } from './saved-state.ts'

/** Effects of this kind are calls that change a machine's power on behalf of an operation. */
export const operationPowerKind = 'operation-power'

const guestWaits: readonly string[] = [forGuest, forGuestToHear]
/** The agent of a machine that was started this recently may not answer yet. */
const bootSeconds = 300

/** Brings the machine's power to the requested state, as one part of an operation. */
export const powerPart = async (
  performance: Performance,
  { part, verb, force }: { readonly part: string; readonly verb: PowerVerb; readonly force: boolean },
): Promise<PerformWait | { readonly type: 'done'; readonly seen: PowerFacts }> => {
  const { ctx, operation, machine, target, platform } = performance
  const outcome = await powerMachine({
    ctx,
    site: target,
    platform,
    ref: machine.ref,
    part,
    mayStart: performance.mayStart,
    most: mostFailures,
    asked: { verb, force, timeoutMs: operation.deadlineSeconds * 1_000 },
    isBooting: () =>
      wasStartedLately(ctx.db, { machineId: machine.id, but: operation.id, withinSeconds: bootSeconds }),
    undo: {
      kind: operationPowerKind,
      with: { target: target.name, ref: machine.ref, machine_id: machine.id, saved: machine.savedState },
    },
  }).catch((error: unknown) => {
    if (error instanceof DroverError && error.code === 'instance-absent') throw machineGone(performance)
    throw error
  })
  if (outcome.type === 'done') return outcome
  return {
    type: 'wait',
    reason: guestWaits.includes(outcome.forWhat) ? 'waiting-for-guest' : 'in-progress',
    detail: `${machine.name} of ${target.name}: waits for ${outcome.forWhat}.`,
    forMs: outcome.forMs,
  }
}

const part = 'power'

const performPower =
  (asked: (force: boolean) => PowerVerb) =>
  async (performance: Performance): Promise<PerformWait | PerformDone> => {
    const { ctx, operation } = performance
    if (ctx.checkpointed?.[part] === undefined && isInDoubt(performance)) await judge(performance)
    const outcome = await powerPart(performance, {
      part,
      verb: asked(operation.force),
      force: operation.force,
    })
    if (outcome.type === 'wait') return outcome
    const { state, host } = outcome.seen
    return { type: 'done', result: { power: state, host }, machine: { power: state, host } }
  }

/** Whether the decision needs more than the power state; each further look is a call. */
const isInDoubt = ({ operation, machine }: Performance): boolean =>
  machine.savedState !== null || (operation.kind === 'restart' && !operation.force)

/** Before any change: whether the operation still makes sense. The machine may have changed since the request. */
const judge = async (performance: Performance): Promise<void> => {
  const { operation, machine } = performance
  const seen = await lookAtPower(performance)
  if (!seen.found) throw machineGone(performance)
  const { state } = seen.value
  if (state === 'off' && operation.kind !== 'stop') {
    if (machine.savedState !== null) throw notForPhase(performance, 'is hibernated', wakeIt)
    if (operation.kind === 'restart' && !operation.force) throw notForPhase(performance, 'is off', startIt)
  }
}

const wakeIt = 'Wake it (`wake`); with `cold` it starts without its memory.'
const startIt = 'Start it, or restart it with force, which starts one that is off.'

/** A machine that does not exist does not run, which is all that a stop requests. */
const stop = async (performance: Performance): Promise<PerformWait | PerformDone> => {
  try {
    return await performPower((force) => (force ? 'stop' : 'shutdown'))(performance)
  } catch (error) {
    const mayBeGone = isAbsent(error) || (error instanceof DroverError && error.code === 'machine-gone')
    if (!mayBeGone || (await lookAtPower(performance)).found) throw error
    return { type: 'done', result: { power: 'off', gone: true }, machine: { power: 'off' } }
  }
}

/** After a cold start, the saved memory no longer fits the disks. */
const undoSchema = undoTaskShape.extend({
  step: z.enum(['start', 'shutdown', 'stop', 'reset']).optional(),
  saved: z.string().nullish(),
})

/**
 * A power change that has begun cannot be taken back. The undo waits for its end, so that nothing of it happens after
 * the successor has acted. Its result does not matter.
 */
export const awaitOperationPower = undoerOf(
  undoSchema,
  async ({ effect, undo, platform, call, confirm, fenced }) => {
    const verb = undo.step && verbOf[undo.step]
    const own = await resultOfTask(portOf(platform, 'power'), call, { effect, machine: undo.ref, verb })
    confirm()
    if (own.found && undo.step === 'start' && undo.saved)
      await letOutlivedGo({ effect, fenced }, { machine_id: undo.machine_id, state: undo.saved })
    await noteAsItIs({ effect, platform, call, fenced }, undo)
  },
)

const needs = ['power'] as const
export const startMachine: Performer = retryUntilDeadline(
  needs,
  performPower(() => 'start'),
)
export const stopMachine: Performer = retryUntilDeadline(needs, stop)
export const restartMachine: Performer = retryUntilDeadline(
  needs,
  performPower(() => 'restart'),
)

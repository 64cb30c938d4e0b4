import { z } from 'zod'
import { readParams } from '../../domain/operation/kinds/params.ts'
import type { OperationReason } from '../../domain/operation/kinds/reasons.ts'
import { DroverError } from '../../errors.ts'
import { resultOfTask } from '../../ledger/ended-task.ts'
import type { SnapshotRef } from '../../platforms/ports/machines.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import { callOf, machineGone, notForPhase, requirePower } from '../perform/look-at-machine.ts'
import type { Performance, PerformDone, PerformWait } from '../perform/performer.ts'
import { doWork } from '../perform/platform-work.ts'
import { retryUntilDeadline } from '../perform/retry-until-deadline.ts'
import { noteAsItIs, undoerOf, undoTaskShape } from '../perform/undo-task.ts'
import { powerPart } from './power.ts'
import { startAgain } from './start-again.ts'

/** Effects of this kind are reverts of a machine to a snapshot. */
export const operationRestoreKind = 'operation-restore'

/** The snapshot, and the state of the machine before. */
const storedPlan = z.object({
  snapshot: z.string(),
  name: z.string(),
  was: z.enum(['on', 'off']),
})
type Plan = z.infer<typeof storedPlan>

const perform = async (performance: Performance): Promise<PerformWait | PerformDone> => {
  const { machine, target, platform } = performance
  const machines = portOf(platform, 'machines')
  const plan = await planOf(performance)
  const work = await doWork(performance, {
    part: 'revert',
    tasks: machines,
    verb: 'revert',
    undo: {
      kind: operationRestoreKind,
      with: { target: target.name, ref: machine.ref, machine_id: machine.id, was: plan.was },
    },
    begin: async (call) => {
      await performance.mayStart()
      performance.ctx.confirm()
      return machines.revertToSnapshot(call, machine.ref, plan.snapshot)
    },
    // Nothing on a machine tells which snapshot it was reverted to last.
    made: async () => ({ found: false }),
    repeat: 'never',
    doing: `${machine.name} is being brought back to snapshot "${plan.name}".`,
    pastReturn: true,
    span: [0, 80],
  })
  if (work.type === 'wait') return work
  return restorePower(performance, plan)
}

/** Restores the power state: a machine that ran before runs again, from the snapshot. */
const restorePower = async (performance: Performance, plan: Plan): Promise<PerformWait | PerformDone> => {
  // The result is recorded here, even if the start has to wait.
  await requirePower(performance)
  const outcome = await powerPart(performance, {
    part: 'again',
    verb: plan.was === 'on' ? 'start' : 'stop',
    force: true,
  })
  if (outcome.type === 'wait') return { ...outcome, progress: 80 }
  const { state: power, host } = outcome.seen
  const { snapshot, name, was } = plan
  return { type: 'done', result: { snapshot, name, was, power }, machine: { power, host } }
}

/** Decided once: afterwards the machine has changed. */
const planOf = async (performance: Performance): Promise<Plan> => {
  const { ctx, machine } = performance
  const known = storedPlan.safeParse(ctx.checkpointed?.plan)
  if (known.success) return known.data
  if (machine.savedState !== null)
    throw notForPhase(performance, 'is hibernated, and its memory fits only the disks as they are', wakeFirst)
  const { state } = await requirePower(performance)
  if (state === 'suspended') throw notForPhase(performance, 'is paused')
  const { ref, name } = await findOne(performance)
  const plan: Plan = { snapshot: ref, name, was: state }
  await ctx.checkpoint({ ...ctx.checkpointed, plan })
  return plan
}

const wakeFirst = 'Wake it first, or wake it with `cold`, which gives its memory up.'

/** By the platform's id, otherwise by name if only one snapshot has that name. */
const findOne = async (performance: Performance): Promise<SnapshotRef> => {
  const { operation, machine, platform } = performance
  const { snapshot: asked } = readParams('restore', operation.params)
  const there = await portOf(platform, 'machines').snapshots(callOf(performance, 'look'), machine.ref)
  if (!there.found) throw machineGone(performance)
  const byRef = there.value.find(({ ref }) => ref === asked)
  if (byRef) return byRef
  const named = there.value.filter(({ name }) => name === asked)
  const [only] = named
  if (only && named.length === 1) return only
  throw notOne(machine.name, asked, named.length > 0 ? named : there.value)
}

const shownMost = 20

const notOne = (machine: string, asked: string, some: readonly SnapshotRef[]): DroverError => {
  const several = some.some(({ name }) => name === asked)
  const listed = some
    .slice(0, shownMost)
    .map(({ ref, name }) => (several ? ref : `${ref} ("${name}")`))
    .join(', ')
  return new DroverError({
    code: (several ? 'snapshot-ambiguous' : 'snapshot-absent') satisfies OperationReason,
    class: 'conflict',
    message: several
      ? `${machine} has ${some.length} snapshots called "${asked}": ${listed}.`
      : `${machine} has no snapshot "${asked}"${some.length > 0 ? `, but ${listed}` : ''}.`,
    remedy: several ? 'Ask again with the ref of one of them.' : 'Ask again with one that the machine has.',
    field: 'params.snapshot',
    detail: { snapshots: some.slice(0, shownMost).map(({ ref }) => ref) },
  })
}

export const restoreMachine = retryUntilDeadline(['snapshots', 'power'], perform)

const undoSchema = undoTaskShape.extend({ was: z.enum(['on', 'off']).default('off') })

/**
 * A revert cannot be taken back: the undo waits for its end. A machine that ran before and was switched off by the
 * revert is started again, because nobody asked for it to be off.
 */
export const awaitOperationRestore = undoerOf(undoSchema, async (undoing) => {
  const { effect, undo, platform, call, confirm } = undoing
  const own = await resultOfTask(portOf(platform, 'machines'), call, {
    effect,
    machine: undo.ref,
    verb: 'revert',
  })
  confirm()
  // Platforms forget their tasks: if the machine is off, it is enough that the task was accepted.
  if (undo.was === 'on' && (own.found || effect.externalId !== null)) await startAgain(undoing)
  await noteAsItIs(undoing, undo)
})

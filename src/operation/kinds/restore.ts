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

/** Effects of this kind are machines that an operation brings back to a snapshot. */
export const operationRestoreKind = 'operation-restore'

/** What is brought back, and how the machine was before. */
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
    // Nothing on a machine tells to what it was brought back last.
    made: async () => ({ found: false }),
    repeat: 'never',
    doing: `${machine.name} is being brought back to snapshot "${plan.name}".`,
    pastReturn: true,
    span: [0, 80],
  })
  if (work.type === 'wait') return work
  return restorePower(performance, plan)
}

/** As it was before: what ran runs again, with what it was brought back to. */
const restorePower = async (performance: Performance, plan: Plan): Promise<PerformWait | PerformDone> => {
  // What came of it is known from here on, also when the start has to wait.
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

/** Decided once: the machine is another one afterwards. */
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

/** By the platform's id, else by its name, where only one has it. */
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
 * It cannot be taken back: it is waited for until it has ended. A machine that it has switched off, and that ran before,
 * is started then: nobody has asked for it to be off.
 */
export const awaitOperationRestore = undoerOf(undoSchema, async (undoing) => {
  const { effect, undo, platform, call, confirm } = undoing
  const own = await resultOfTask(portOf(platform, 'machines'), call, {
    effect,
    machine: undo.ref,
    verb: 'revert',
  })
  confirm()
  // Platforms forget their tasks: that it was taken on is enough where the machine is off.
  if (undo.was === 'on' && (own.found || effect.externalId !== null)) await startAgain(undoing)
  await noteAsItIs(undoing, undo)
})

import type { OperationReason } from '../../domain/operation/kinds/reasons.ts'
import { DroverError } from '../../errors.ts'
import { resultOfTask } from '../../ledger/ended-task.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import { notForPhase, requirePower } from '../perform/look-at-machine.ts'
import type { Performance, PerformDone, PerformWait } from '../perform/performer.ts'
import { doWork, hasBegunWork } from '../perform/platform-work.ts'
import { retryUntilDeadline } from '../perform/retry-until-deadline.ts'
import { noteAsItIs, undoerOf, undoTaskShape } from '../perform/undo-task.ts'
import { coldRemedy, isWhole, requireWhole } from './saved-state.ts'

/** Effects of this kind are saves of a machine's memory, after which it is off. */
export const operationSaveKind = 'operation-save'

const part = 'save'
const lookMs = 1_000

const perform = async (performance: Performance): Promise<PerformWait | PerformDone> => {
  const { machine, target, platform } = performance
  const hibernate = portOf(platform, 'hibernate')
  if (!hasBegunWork(performance, part)) {
    const { state } = await requirePower(performance)
    if (state !== 'on') throw notForPhase(performance, `is ${state}, so there is no memory to save`)
  }
  const work = await doWork(performance, {
    part,
    tasks: hibernate,
    verb: 'save',
    undo: {
      kind: operationSaveKind,
      with: { target: target.name, ref: machine.ref, machine_id: machine.id },
    },
    begin: (call) => hibernate.save(call, machine.ref),
    // Without the answer of this save, nobody can tell which save a state comes from.
    made: async () => ({ found: false }),
    doing: `The memory of ${machine.name} is being saved.`,
    pastReturn: true,
    span: [0, 95],
  })
  if (work.type === 'wait') return work
  const { state: power, host } = await requirePower(performance)
  if (work.result === null) throw stateless(machine.name)
  const { ref, size, digest } = await requireWhole(performance, work.result)
  if (power !== 'off')
    return {
      type: 'wait',
      reason: 'in-progress',
      forMs: lookMs,
      progress: 95,
      detail: `The memory of ${machine.name} is saved; waits for it to be off.`,
    }
  return {
    type: 'done',
    result: { saved_state: ref, size, digest, power },
    machine: { power, host, savedState: ref },
  }
}

export const hibernateMachine = retryUntilDeadline(['hibernate', 'power'], perform)

/**
 * A save cannot be taken back. If its job ends first, the undo waits for the save and records the machine as
 * hibernated: otherwise the machine would be started cold next and its memory lost.
 */
export const endOperationSave = undoerOf(
  undoTaskShape,
  async ({ effect, undo, platform, call, confirm, fenced }) => {
    const hibernate = portOf(platform, 'hibernate')
    const own = await resultOfTask(hibernate, call, { effect, machine: undo.ref, verb: 'save' })
    if (!own.found || own.value === null) return
    const ref = own.value
    const whole = isWhole(await again(call, () => hibernate.saved(call, ref)), undo.ref)
    confirm()
    await noteAsItIs({ effect, platform, call, fenced }, undo, (machine, { state }) =>
      whole && state === 'off' && machine.savedState === null ? { savedState: ref } : {},
    )
  },
)

const stateless = (name: string): DroverError =>
  new DroverError({
    code: 'state-unusable' satisfies OperationReason,
    class: 'conflict',
    message: `The memory of ${name} was saved, and the platform does not tell where.`,
    remedy: coldRemedy,
  })

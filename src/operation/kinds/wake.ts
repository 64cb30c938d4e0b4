import { z } from 'zod'
import { readParams } from '../../domain/operation/kinds/params.ts'
import { resultOfTask } from '../../ledger/ended-task.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import type { PowerFacts } from '../../platforms/ports/power.ts'
import { notForPhase, requirePower } from '../perform/look-at-machine.ts'
import type { Performance, PerformDone, PerformWait } from '../perform/performer.ts'
import { doWork, hasEndedWork } from '../perform/platform-work.ts'
import { retryUntilDeadline } from '../perform/retry-until-deadline.ts'
import { noteAsItIs, undoerOf, undoTaskShape } from '../perform/undo-task.ts'
import { powerPart } from './power.ts'
import { letOutlivedGo, letSavedGo, requireWhole } from './saved-state.ts'

/** Effects of this kind are machines that an operation wakes from their saved memory. */
export const operationWakeKind = 'operation-wake'

const undoSchema = undoTaskShape.extend({ state: z.string() })

const part = 'wake'
const lookMs = 1_000

const perform = async (performance: Performance): Promise<PerformWait | PerformDone> => {
  const { cold } = readParams('wake', performance.operation.params)
  const state = await stateOf(performance)
  const woken = cold ? await startCold(performance) : await wake(performance, state)
  if (woken.type === 'wait') return woken
  const { state: power, host } = woken.seen
  if (power !== 'on')
    return {
      type: 'wait',
      reason: 'in-progress',
      forMs: lookMs,
      progress: 90,
      detail: `${performance.machine.name} is to wake, and is ${power}.`,
    }
  // The machine runs from its own memory now: the saved state fits nothing any more.
  await letSavedGo(performance, state)
  return {
    type: 'done',
    result: { power, host, cold, woken_from: state },
    machine: { power, host, savedState: null },
  }
}

export const wakeMachine = retryUntilDeadline(['hibernate', 'power'], perform)

type Woken = PerformWait | { readonly type: 'done'; readonly seen: PowerFacts }

/** The state is decided once, because its reference is cleared before the operation ends. */
const stateOf = async (performance: Performance): Promise<string> => {
  const { ctx, machine } = performance
  const known = ctx.checkpointed?.state
  if (typeof known === 'string') return known
  const state = machine.savedState
  if (state === null) throw notForPhase(performance, 'is not hibernated')
  const seen = await requirePower(performance)
  // The machine has run since: the old memory would corrupt disks that have changed.
  if (seen.state === 'on') await letSavedGo(performance, state)
  if (seen.state !== 'off') throw notForPhase(performance, `is ${seen.state} already`)
  await ctx.checkpoint({ ...ctx.checkpointed, state })
  return state
}

const wake = async (performance: Performance, state: string): Promise<Woken> => {
  const { operation, machine, target, platform } = performance
  const hibernate = portOf(platform, 'hibernate')
  if (!hasEndedWork(performance, part)) await requireWhole(performance, state)
  const host = readParams('wake', operation.params).host ?? machine.host
  const work = await doWork(performance, {
    part,
    tasks: hibernate,
    verb: 'wake',
    undo: {
      kind: operationWakeKind,
      with: { target: target.name, ref: machine.ref, machine_id: machine.id, state },
    },
    begin: async (call) => {
      await performance.mayStart()
      performance.ctx.confirm()
      return hibernate.restore(call, state, { host })
    },
    made: async () => {
      const seen = await requirePower(performance)
      return seen.state === 'on' ? { found: true, value: machine.ref } : { found: false }
    },
    doing: `${machine.name} is being woken from its saved memory.`,
    pastReturn: true,
    span: [0, 90],
  })
  return work.type === 'wait' ? work : { type: 'done', seen: await requirePower(performance) }
}

/** A person gives up the memory: the machine starts as after a power failure. */
const startCold = (performance: Performance): Promise<Woken> =>
  powerPart(performance, { part: 'cold', verb: 'start', force: true })

/** Waits for the end of the wake. If the machine has run from the saved memory, that state no longer fits its disks. */
export const awaitOperationWake = undoerOf(
  undoSchema,
  async ({ effect, undo, platform, call, confirm, fenced }) => {
    const own = await resultOfTask(portOf(platform, 'hibernate'), call, {
      effect,
      machine: undo.ref,
      verb: 'wake',
    })
    confirm()
    if (own.found) await letOutlivedGo({ effect, fenced }, undo)
    await noteAsItIs({ effect, platform, call, fenced }, undo)
  },
)

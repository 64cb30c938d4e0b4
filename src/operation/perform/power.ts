import type { PowerVerb } from '../../domain/job/power-instance.ts'
import { powerMachine } from '../../inventory/power-machine.ts'
import type { Performance, PerformDone, Performer, PerformWait } from '../performer.ts'

/** Effects of this kind are calls that change a machine's power on behalf of an operation. */
export const operationPowerKind = 'operation-power'

const performPower =
  (verbOf: (force: boolean) => PowerVerb) =>
  async ({ turn, operation, machine, target, platform }: Performance): Promise<PerformWait | PerformDone> => {
    const outcome = await powerMachine({
      ...{ turn, site: target, platform, ref: machine.ref, part: 'power' },
      asked: {
        verb: verbOf(operation.force),
        force: operation.force,
        timeoutMs: operation.deadlineSeconds * 1_000,
      },
      undo: { kind: operationPowerKind, with: { target: target.name, ref: machine.ref } },
    })
    if (outcome.type === 'wait')
      return {
        type: 'wait',
        reason: 'in-progress',
        detail: `${machine.name} of ${target.name}: waits for ${outcome.forWhat}.`,
        forMs: outcome.forMs,
      }
    const { state, host } = outcome.seen
    return { type: 'done', result: { power: state, host }, machine: { power: state, host } }
  }

export const startMachine: Performer = { perform: performPower(() => 'start') }
export const stopMachine: Performer = { perform: performPower((force) => (force ? 'stop' : 'shutdown')) }
export const restartMachine: Performer = { perform: performPower(() => 'restart') }

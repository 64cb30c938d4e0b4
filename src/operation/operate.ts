import { lockMachine, noteMachine } from '../../db/queries/machine-rows.ts'
import { lockOperationOfJob } from '../../db/queries/operation-rows.ts'
import type { MachineRow } from '../../db/schema/operation.ts'
import type { PowerVerb } from '../domain/job/power-instance.ts'
import type { OperationKind } from '../domain/operation/kinds.ts'
import { operationReasons } from '../domain/operation/reasons.ts'
import { activeStates } from '../domain/operation/state.ts'
import { DroverError } from '../errors.ts'
import { type ActingTurn, powerMachine } from '../inventory/power-machine.ts'
import type { UsePlatform } from '../inventory/sync-site.ts'
import { actorOf } from '../inventory/turn.ts'
import type { DomainChange } from '../ledger/settle.ts'
import type { PowerFacts } from '../platforms/ports/power.ts'
import { endOperation } from './end-operation.ts'
import { type Entered, enterOperation, movedOn } from './enter-operation.ts'

/** Effects of this kind are calls that change a machine's power on behalf of an operation. */
export const operationPowerKind = 'operation-power'

export type OperateOutcome =
  | { readonly type: 'done'; readonly result: Record<string, unknown>; readonly change: DomainChange }
  | { readonly type: 'wait'; readonly reason: string; readonly detail: string; readonly forMs: number }

const olderLookMs = 500

/** One turn of an operation: waits for the one that gave way, acts, and ends it when the machine is where it was asked. */
export const operate = async (
  turn: ActingTurn,
  operationId: string,
  use: UsePlatform,
): Promise<OperateOutcome> => {
  const entered = await enterOperation(turn, operationId)
  if ('waitsFor' in entered)
    return {
      type: 'wait',
      reason: 'awaiting-older',
      detail: `${operationReasons['awaiting-older'].title}: ${entered.waitsFor.join(', ')}.`,
      forMs: olderLookMs,
    }
  const verb = verbOf(entered)
  if (verb === undefined) throw unsupported(entered)
  return use(entered.target, async (platform): Promise<OperateOutcome> => {
    const { operation, machine, target } = entered
    const timeoutMs = operation.deadlineSeconds * 1_000
    const outcome = await powerMachine({
      ...{ turn, site: target, platform, ref: machine.ref, part: 'power' },
      asked: { verb, force: operation.force, timeoutMs },
      undo: { kind: operationPowerKind, with: { target: target.name, ref: machine.ref } },
    })
    if (outcome.type === 'wait')
      return {
        type: 'wait',
        reason: 'power',
        detail: `${machine.name} of ${target.name}: waits for ${outcome.forWhat}.`,
        forMs: outcome.forMs,
      }
    return finish(entered, outcome.seen)
  })
}

const verbs: Partial<Record<OperationKind, (force: boolean) => PowerVerb>> = {
  start: () => 'start',
  stop: (force) => (force ? 'stop' : 'shutdown'),
  restart: () => 'restart',
}

const verbOf = ({ operation }: Entered): PowerVerb | undefined =>
  verbs[operation.kind as OperationKind]?.(operation.force)

const finish = (entered: Entered, seen: PowerFacts): OperateOutcome => {
  const { turn, operation, machine } = entered
  const result = { power: seen.state, host: seen.host }
  return {
    type: 'done',
    result,
    change: async (tx) => {
      await lockMachine(tx, machine.id)
      const mine = await lockOperationOfJob(tx, { operationId: operation.id, jobId: turn.job.id })
      // A newer one took its place at the last moment: that one says where the machine goes.
      if (!mine) throw movedOn(operation.id)
      await noteMachine(tx, machine.id, { power: seen.state as MachineRow['power'], host: seen.host })
      await endOperation(tx, machine.id, {
        id: operation.id,
        from: activeStates,
        to: 'completed',
        reason: 'completed',
        message: `${operationReasons.completed.title}.`,
        actor: actorOf(turn),
        result,
      })
    },
  }
}

const unsupported = ({ operation, target }: Entered): DroverError =>
  new DroverError({
    code: 'unsupported',
    class: 'permanent',
    message: `${operation.kind}: ${target.name} cannot do that.`,
    remedy: operationReasons.unsupported.remedy,
  })

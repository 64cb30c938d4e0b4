import { lockMachine } from '../../db/queries/machine-rows.ts'
import { lockOperationOfJob, moveOperation } from '../../db/queries/operation-rows.ts'
import type { OperationRow } from '../../db/schema/operation.ts'
import { overdueReason } from '../domain/operation/decide-tick.ts'
import { operationReasons } from '../domain/operation/reasons.ts'
import { DroverError } from '../errors.ts'
import type { ActingTurn } from '../inventory/power-machine.ts'
import { requireMayStart, startOfMachine } from '../inventory/start-guard.ts'
import type { UsePlatform } from '../inventory/sync-site.ts'
import { actorOf } from '../inventory/turn.ts'
import { crashPoint } from '../ledger/crash-point.ts'
import type { DomainChange } from '../ledger/settle.ts'
import { endOperation } from './end-operation.ts'
import { type Entered, enterOperation, movedOn } from './enter-operation.ts'
import { noteSeen } from './note-seen.ts'
import type { Performance, PerformDone, PerformWait } from './performer.ts'
import { performers } from './performers.ts'

export type OperateOutcome =
  | {
      readonly type: 'done'
      readonly result: Record<string, unknown>
      readonly change: DomainChange
      readonly lock: DomainChange
    }
  | PerformWait

/** One turn of an operation: waits for the one that gave way, acts, and ends it when the machine is where it was asked. */
export const operate = async (
  turn: ActingTurn,
  operationId: string,
  use: UsePlatform,
): Promise<OperateOutcome> => {
  const entered = await enterOperation(turn, operationId)
  if ('older' in entered) {
    const { reason, message, forMs } = entered.older
    return { type: 'wait', reason, detail: message, forMs, signal: entered.signal }
  }
  crashPoint('operation-entered')
  return use(entered.target, async (platform): Promise<OperateOutcome> => {
    const performer = performers[entered.operation.kind]
    const { turn, machine } = entered
    const looking = { db: turn.db, use, signal: turn.signal }
    const mayStart = () => requireMayStart(looking, startOfMachine(machine, turn.job.id))
    const asked: Performance = { ...entered, platform, mayStart }
    if (performer.prepare && entered.operation.state === 'pending') {
      const prepared = await performer.prepare(asked)
      if (prepared.type === 'wait') return prepared
    }
    const operation = await begin(entered)
    crashPoint('operation-begun')
    const outcome = await performer.perform({ ...asked, operation })
    return outcome.type === 'wait' ? outcome : finish(entered, outcome)
  })
}

/** From here on it runs, and its deadline counts. */
const begin = ({ turn, operation, machine }: Entered): Promise<Entered['operation']> =>
  turn.transaction(async (tx) => {
    const mine = await lockOperationOfJob(tx, { operationId: operation.id, jobId: turn.job.id })
    if (!mine) throw movedOn(operation.id)
    if (mine.state === 'running') {
      if (mine.overdue) throw overdue(mine, machine.name)
      return mine
    }
    const begun = await moveOperation(tx, {
      id: mine.id,
      event: 'begin',
      reason: 'in-progress',
      message: `${operationReasons['in-progress'].title}.`,
      actor: actorOf(turn),
    })
    if (!begun) throw movedOn(operation.id)
    return { ...begun, overdue: false, leftMs: begun.deadlineSeconds * 1_000, ranMs: 0 }
  })

const finish = (entered: Entered, { result, machine: seen }: PerformDone): OperateOutcome => {
  const { turn, operation, machine } = entered
  return {
    type: 'done',
    result: { ...result },
    lock: async (tx) => void (await lockMachine(tx, machine.id)),
    change: async (tx) => {
      const mine = await lockOperationOfJob(tx, { operationId: operation.id, jobId: turn.job.id })
      // A newer one took its place at the last moment: that one says where the machine goes.
      if (!mine) throw movedOn(operation.id)
      await noteSeen(tx, { machineId: machine.id, jobId: turn.job.id }, seen)
      const ended = await endOperation(tx, machine.id, {
        id: operation.id,
        event: 'complete',
        reason: 'completed',
        message: `${operationReasons.completed.title}.`,
        actor: actorOf(turn),
        result,
      })
      if (!ended) throw movedOn(operation.id)
      crashPoint('operation-ends')
    },
  }
}

/** With what it waited for last: that is what has to be mended. */
const overdue = ({ kind, reason, message, deadlineSeconds }: OperationRow, machine: string): DroverError => {
  const code = overdueReason(reason)
  return new DroverError({
    code,
    class: 'permanent',
    message: `${kind} of ${machine} was given ${deadlineSeconds} seconds and has not come to its end. ${message}`,
    remedy: operationReasons[code].remedy,
  })
}

import { lockMachine } from '../../../db/queries/machines/machine-rows.ts'
import { lockOperationOfJob, moveOperation } from '../../../db/queries/operations/operation-rows.ts'
import type { OperationRow } from '../../../db/schema/operation.ts'
import { crashPoint } from '../../crash-point.ts'
import { overdueReason } from '../../domain/operation/admission/decide-tick.ts'
import { operationReasons } from '../../domain/operation/kinds/reasons.ts'
import { DroverError } from '../../errors.ts'
import { requireMayStart, startOfMachine } from '../../inventory/power/start-guard.ts'
import { actorOf, type JobContext, type Outcome, release, waitFor } from '../../ledger/job.ts'
import { endOperation } from '../admission/end-operation.ts'
import { type Entered, enterOperation, movedOn } from '../perform/enter-operation.ts'
import { underMachineLock } from '../perform/machine-lock.ts'
import { noteSeen } from '../perform/note-seen.ts'
import type { Performance, PerformDone, PerformWait } from '../perform/performer.ts'
import { performers } from './performers.ts'

/** One turn of an operation: waits for the superseded operation, acts, and ends when the machine is as requested. */
export const operate = async (ctx: JobContext, operationId: string): Promise<Outcome> => {
  const entered = await enterOperation(ctx, operationId)
  if ('older' in entered) {
    const { reason, message, forMs } = entered.older
    return waitFor({ reason, detail: message, forMs, signal: entered.signal })
  }
  crashPoint('operation-entered')
  return ctx.usePlatform(entered.target, async (platform): Promise<Outcome> => {
    const performer = performers[entered.operation.kind]
    const mayStart = () => requireMayStart(ctx, startOfMachine(entered.machine, ctx.job.id))
    const asked: Performance = { ...entered, platform, mayStart }
    if (performer.prepare && entered.operation.state === 'pending') {
      const prepared = await performer.prepare(asked)
      if (prepared.type === 'wait') return waitOrRelease(prepared)
    }
    const operation = await begin(entered)
    crashPoint('operation-begun')
    const outcome = await performer.perform({ ...asked, operation })
    return outcome.type === 'wait' ? waitOrRelease(outcome) : finish(entered, outcome)
  })
}

/** A wait for slots ends when they are granted, not after a time. */
const waitOrRelease = (wait: PerformWait): Outcome =>
  wait.reason === 'awaiting-slot' ? release(wait.reason, wait.detail) : wait

/** From here on the operation runs and its deadline counts. */
const begin = (entered: Entered): Promise<Entered['operation']> =>
  underMachineLock(entered, async (tx) => {
    const { ctx, operation, machine } = entered
    const mine = await lockOperationOfJob(tx, { operationId: operation.id, jobId: ctx.job.id })
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
      actor: actorOf(ctx),
    })
    if (!begun) throw movedOn(operation.id)
    return { ...begun, overdue: false, leftMs: begun.deadlineSeconds * 1_000, ranMs: 0 }
  })

const finish = (entered: Entered, { result, machine: seen }: PerformDone): Outcome => {
  const { ctx, operation, machine } = entered
  return {
    type: 'done',
    result: { ...result },
    lock: async (tx) => void (await lockMachine(tx, machine.id)),
    change: async (tx) => {
      const mine = await lockOperationOfJob(tx, { operationId: operation.id, jobId: ctx.job.id })
      // A newer operation superseded this one at the last moment and decides what happens to the machine.
      if (!mine) throw movedOn(operation.id)
      await noteSeen(tx, { machineId: machine.id, jobId: ctx.job.id }, seen)
      const ended = await endOperation(tx, machine.id, {
        id: operation.id,
        event: 'complete',
        reason: 'completed',
        message: `${operationReasons.completed.title}.`,
        actor: actorOf(ctx),
        result,
      })
      if (!ended) throw movedOn(operation.id)
      crashPoint('operation-ends')
    },
  }
}

/** Includes the last reason of its waits, which has to be mended. */
const overdue = ({ kind, reason, message, deadlineSeconds }: OperationRow, machine: string): DroverError => {
  const code = overdueReason(reason)
  return new DroverError({
    code,
    class: 'permanent',
    message: `${kind} of ${machine} was given ${deadlineSeconds} seconds and has not come to its end. ${message}`,
    remedy: operationReasons[code].remedy,
  })
}

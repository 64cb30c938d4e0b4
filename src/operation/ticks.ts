import type { Db, Tx } from '../../db/client.ts'
import { lockMachine } from '../../db/queries/machine-rows.ts'
import {
  findMachinesToLookAt,
  findOpenOperations,
  type OpenOperation,
} from '../../db/queries/operation-rows.ts'
import type { Clock } from '../clock.ts'
import { decideTick, type TickStep } from '../domain/operation/decide-tick.ts'
import { type OperationReason, operationReasons } from '../domain/operation/reasons.ts'
import type { OperationState } from '../domain/operation/state.ts'
import type { RecordedError } from '../errors.ts'
import { type CancelOutcome, cancelInTransaction, nudgeCancel } from '../ledger/cancel.ts'
import { nudge } from '../ledger/nudge.ts'
import { Loop } from '../ledger/service.ts'
import type { Logger } from '../log.ts'
import { endOperation, leaveOperation, settleAndPromote } from './end-operation.ts'

export interface OperationTicksOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
}

const roundMost = 200
const actor = 'conductor'

/** Ends what its job has left, settles what has let go, gives the next one its turn, and lets nothing wait for ever. */
export const operationTicks = ({ db, clock, log }: OperationTicksOptions): Loop =>
  new Loop({
    name: 'operation-ticks',
    intervalMs: 500,
    clock,
    log,
    runOnce: () => tickOperations(db),
  })

/** One round. True: there is more. */
export const tickOperations = async (db: Db): Promise<boolean> => {
  const machines = await findMachinesToLookAt(db, roundMost)
  for (const machineId of machines) {
    const canceled = (await db.begin((tx) => tickMachine(tx, machineId))) as CancelOutcome[]
    for (const outcome of canceled) nudgeCancel(db, outcome)
  }
  if (machines.length > 0) nudge(db)
  return machines.length === roundMost
}

const tickMachine = async (tx: Tx, machineId: string): Promise<CancelOutcome[]> => {
  const canceled: CancelOutcome[] = []
  await lockMachine(tx, machineId)
  for (const operation of await findOpenOperations(tx, machineId)) {
    const step = decideTick({
      state: operation.state as OperationState,
      jobState: operation.jobState,
      jobId: operation.jobId,
      expired: operation.expired,
      started: operation.acted,
    })
    const outcome = await carryOut(tx, operation, step)
    if (outcome) canceled.push(outcome)
  }
  // Also when nothing has ended here: its turn may have come in a round that was cut off.
  await settleAndPromote(tx, machineId, [])
  return canceled
}

const carryOut = async (
  tx: Tx,
  operation: OpenOperation,
  step: TickStep,
): Promise<CancelOutcome | undefined> => {
  if (step.do === 'rest') return undefined
  if (step.do === 'settle') {
    await settleAndPromote(tx, operation.machineId, [operation.id])
    return undefined
  }
  const { id, jobError } = operation
  const reason = step.reason === 'failed' ? reasonOf(jobError) : step.reason
  const move = {
    id,
    from: ['queued', 'pending', 'running'],
    to: step.to,
    reason,
    message: jobError?.message ?? `${operationReasons[reason].title}.`,
    error: jobError,
    actor,
  } as const
  if (step.do === 'end') {
    await endOperation(tx, operation.machineId, move)
    return undefined
  }
  const outcome = await cancelInTransaction(tx, operation.jobId ?? '', { by: actor, reason: move.message })
  if (outcome.outcome === 'requested') {
    await leaveOperation(tx, move)
    return outcome
  }
  await endOperation(tx, operation.machineId, move)
  return undefined
}

/** A job that knows why it failed says it by the word of a reason. */
const reasonOf = (error: RecordedError | null): OperationReason =>
  error !== null && Object.hasOwn(operationReasons, error.code) ? (error.code as OperationReason) : 'failed'

import type { Db, Tx } from '../../../db/client.ts'
import { findMachinesToLookAt } from '../../../db/queries/machines/find-machines-to-look-at.ts'
import { tryLockMachine } from '../../../db/queries/machines/machine-rows.ts'
import { findOpenOperations, type OpenOperation } from '../../../db/queries/operations/operation-rows.ts'
import type { MachineRow } from '../../../db/schema/operation.ts'
import type { Clock } from '../../clock.ts'
import { crashPoint } from '../../crash-point.ts'
import {
  decideTick,
  overdueGraceSeconds,
  runningGraceSeconds,
  type TickStep,
} from '../../domain/operation/admission/decide-tick.ts'
import { type OperationReason, operationReasons } from '../../domain/operation/kinds/reasons.ts'
import { isStillActive } from '../../domain/operation/kinds/still-active.ts'
import type { RecordedError } from '../../errors.ts'
import { type CancelOutcome, cancelInTransaction, nudgeCancel } from '../../ledger/jobs/cancel.ts'
import { nudge } from '../../ledger/jobs/nudge.ts'
import { sendSignal } from '../../ledger/jobs/signals.ts'
import type { Logger } from '../../process/log.ts'
import { Loop } from '../../process/service.ts'
import { endOperation, leaveOperation, promoteNext, settleAndPromote } from '../admission/end-operation.ts'
import {
  awaitStillActive,
  clearHealed,
  settledSignal,
  stillActiveBoundSeconds,
} from '../perform/await-still-active.ts'
import { keepRunPolicies } from './keep-run-policies.ts'
import { resumeEvacuations } from './resume-evacuation.ts'

export interface OperationTicksOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
}

const roundMost = 200
const actor = 'conductor'
const stillActiveReasons: readonly string[] = ['awaiting-older', 'older-keeps-on'] satisfies OperationReason[]

/**
 * Ends operations whose jobs have ended, settles those that no longer act, promotes the next ones, and enforces every
 * deadline.
 */
export const operationTicks = ({ db, clock, log }: OperationTicksOptions): Loop =>
  new Loop({
    name: 'operation-ticks',
    intervalMs: 500,
    clock,
    log,
    runOnce: () => tickOperations(db, log),
  })

/** One round. True: there is more. */
export const tickOperations = async (db: Db, log: Logger): Promise<boolean> => {
  const machines = await findMachinesToLookAt(db, {
    limit: roundMost,
    stillActiveSeconds: await stillActiveBoundSeconds(db),
    overdueSeconds: overdueGraceSeconds,
    runningOverdueSeconds: runningGraceSeconds,
  })
  for (const machineId of machines) {
    try {
      const canceled = (await db.begin((tx) => tickMachine(tx, machineId))) as CancelOutcome[]
      for (const outcome of canceled) nudgeCancel(db, outcome)
    } catch (error) {
      // A machine that cannot be looked at does not delay the others.
      log.warn({ err: error, machine: machineId }, 'the operations of a machine could not be looked at')
    }
  }
  if (machines.length > 0) nudge(db)
  const parts = [
    () => resumeEvacuations(db, log),
    () => keepRunPolicies(db, log),
    () => clearHealed({ db, log }, { limit: roundMost, actor }),
  ]
  let more = machines.length === roundMost
  for (const part of parts) if (await apart(log, part)) more = true
  return more
}

/** A failure in one part of a round does not stop the other parts. */
const apart = async (log: Logger, part: () => Promise<boolean>): Promise<boolean> => {
  try {
    return await part()
  } catch (error) {
    log.warn({ err: error }, 'a part of a round of the operations failed; it comes again')
    return false
  }
}

const tickMachine = async (tx: Tx, machineId: string): Promise<CancelOutcome[]> => {
  const canceled: CancelOutcome[] = []
  const machine = await tryLockMachine(tx, machineId)
  // Another transaction is changing the machine: this round skips it.
  if (machine === 'busy') return canceled
  const open = await findOpenOperations(tx, machineId)
  const awaitsStillActive = open.some(isStillActive)
  let isAsSeen = true
  for (const operation of open) {
    const step = decideTick({
      state: operation.state,
      jobState: operation.jobState,
      jobId: operation.jobId,
      expired: operation.expired,
      started: operation.acted,
      waitsForSlot: operation.inLineSince !== null,
      overdueSeconds: operation.overdueSeconds,
      reason: operation.reason,
      awaitsStillActive,
    })
    if (step.do === 'rest') continue
    isAsSeen = false
    const outcome = await carryOut(tx, operation, step)
    if (outcome) canceled.push(outcome)
  }
  // Also when nothing has ended here: an earlier round may have been interrupted.
  if (await promoteNext(tx, machineId, isAsSeen ? open : undefined)) isAsSeen = false
  if (machine) await wakeOrTell(tx, machine, isAsSeen ? open : await findOpenOperations(tx, machineId))
  crashPoint('operation-tick')
  return canceled
}

/**
 * An operation that waits for an older one goes on as soon as the older one is settled; until then it shows what that
 * one does.
 */
const wakeOrTell = async (tx: Tx, machine: MachineRow, open: readonly OpenOperation[]): Promise<void> => {
  const waits = open.find(({ state }) => state === 'pending')
  if (!waits) return
  const still = await awaitStillActive(tx, { operationId: waits.id, machine, actor })
  if (!still && stillActiveReasons.includes(waits.reason))
    await sendSignal(tx, settledSignal(machine.id), actor)
}

const carryOut = async (
  tx: Tx,
  operation: OpenOperation,
  step: Exclude<TickStep, { do: 'rest' }>,
): Promise<CancelOutcome | undefined> => {
  if (step.do === 'settle') {
    await settleAndPromote(tx, operation.machineId, [operation.id])
    return undefined
  }
  const { id, jobError } = operation
  const reason = step.reason === 'failed' ? reasonOf(jobError) : step.reason
  const move = {
    id,
    // As seen in the query: an operation that has moved on since is looked at in the next round.
    seen: operation.state,
    event: step.event,
    reason,
    message: messageOf(reason, operation),
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

/** For a failure its message; for a time-out also the last message. */
const messageOf = (reason: OperationReason, { jobError, ...last }: OpenOperation): string => {
  const title = `${operationReasons[reason].title}.`
  if (!ranOut.includes(reason)) return jobError?.message ?? title
  const heard = jobError?.message ?? (plain.includes(last.reason) ? undefined : last.message)
  return heard === undefined ? title : `${title} The last that was heard of it: ${heard}`
}

const plain: readonly string[] = ['queued', 'admitted', 'in-progress'] satisfies OperationReason[]
const ranOut: readonly OperationReason[] = ['deadline-exceeded', 'wait-expired', 'older-keeps-on']

/** A job that knows the reason of its failure gives it by its code. */
const reasonOf = (error: RecordedError | null): OperationReason =>
  error !== null && Object.hasOwn(operationReasons, error.code) ? (error.code as OperationReason) : 'failed'

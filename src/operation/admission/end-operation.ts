import type { Tx } from '../../../db/client.ts'
import { findMachine } from '../../../db/queries/machines/machine-rows.ts'
import {
  findOpenOperations,
  moveOperation,
  type OpenOperation,
  type OperationMove,
  settleOperations,
} from '../../../db/queries/operations/operation-rows.ts'
import type { OperationRow } from '../../../db/schema/operation.ts'
import { whyNotPromoted } from '../../domain/operation/admission/admit.ts'
import { operationReasons } from '../../domain/operation/kinds/reasons.ts'
import { isActive } from '../../domain/operation/kinds/state.ts'
import { moveToEnd } from './operation-followups.ts'
import { sendOperation } from './send-operation.ts'

/** Ends an operation that no longer acts, and promotes the next one. The machine is locked. */
export const endOperation = async (
  tx: Tx,
  machineId: string,
  move: Omit<OperationMove, 'settled'>,
): Promise<OperationRow | undefined> => {
  const ended = await moveToEnd(tx, { ...move, settled: true })
  await promoteNext(tx, machineId)
  return ended
}

/** Settles operations that ended earlier and whose effects have stopped since, then promotes the next one. The machine is locked. */
export const settleAndPromote = async (tx: Tx, machineId: string, ids: readonly string[]): Promise<void> => {
  await settleOperations(tx, ids)
  await promoteNext(tx, machineId)
}

/**
 * Promotes the first queued operation once no other is pending or running at the machine. Its job then waits for
 * operations that are still active. A caller that has just read the open operations under the machine's lock hands them
 * in. Returns false when nothing changed.
 */
export const promoteNext = async (
  tx: Tx,
  machineId: string,
  seen?: readonly OpenOperation[],
): Promise<boolean> => {
  const open = seen ?? (await findOpenOperations(tx, machineId))
  if (open.some(({ state }) => isActive(state))) return false
  const queue = open.filter(({ state }) => state === 'queued')
  if (queue.length === 0) return false
  const machine = await findMachine(tx, machineId)
  const policy = machine?.runPolicy ?? 'manual'
  for (const next of queue) {
    const why = whyNotPromoted(next, policy)
    if (why === undefined) {
      await promote(tx, next)
      return true
    }
    await moveToEnd(tx, {
      id: next.id,
      event: 'fail',
      seen: 'queued',
      reason: why,
      actor: 'conductor',
      settled: true,
      message: `${operationReasons[why].title}. It is ${policy} by now.`,
    })
  }
  return true
}

const promote = async (tx: Tx, next: OpenOperation): Promise<void> => {
  const promoted = await moveOperation(tx, {
    id: next.id,
    event: 'promote',
    reason: 'admitted',
    message: `${operationReasons.admitted.title}.`,
    actor: 'conductor',
  })
  if (promoted) await sendOperation(tx, promoted)
}

/** Ends an operation whose job is still active: the next operation waits for that job. */
export const leaveOperation = (
  tx: Tx,
  move: Omit<OperationMove, 'settled'>,
): Promise<OperationRow | undefined> => moveToEnd(tx, move)

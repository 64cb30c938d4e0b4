import type { Tx } from '../../../db/client.ts'
import { insertAuditEvent } from '../../../db/queries/events/insert-audit-event.ts'
import { lockMachine } from '../../../db/queries/machines/machine-rows.ts'
import { stopResumptions } from '../../../db/queries/operations/operation-followups.ts'
import { findOperation } from '../../../db/queries/operations/operation-rows.ts'
import type { OperationRow } from '../../../db/schema/operation.ts'
import { hasEnded } from '../../domain/operation/kinds/state.ts'
import { DroverError } from '../../errors.ts'
import { type CancelOutcome, cancelInTransaction } from '../../ledger/jobs/cancel.ts'
import { endOperation, leaveOperation } from './end-operation.ts'

export interface CanceledOperation {
  readonly operation: OperationRow
  /** The cancelled job, to be announced to workers after the commit. */
  readonly canceled: CancelOutcome | undefined
}

/** A person cancels an operation: it ends now, and its job is cancelled. Refused once it is past its return. */
export const cancelOperation = async (
  tx: Tx,
  { id, by }: { readonly id: string; readonly by: string },
): Promise<CanceledOperation> => {
  const seen = await findOperation(tx, id)
  if (!seen) throw notThere(id)
  await lockMachine(tx, seen.machineId)
  const now = await findOperation(tx, id)
  if (!now) throw notThere(id)
  if (now.comeBackAt !== null) return { operation: await dropResumption(tx, now, by), canceled: undefined }
  if (hasEnded(now.state)) throw tooLate(now, `It is ${now.state} already.`)
  if (now.pastReturn) throw pastReturn(now)
  const move = {
    id,
    event: 'cancel',
    reason: 'canceled',
    message: `${by} gave it up.`,
    actor: by,
  } as const
  const outcome =
    now.jobId === null ? undefined : await cancelInTransaction(tx, now.jobId, { by, reason: move.message })
  const ended =
    outcome?.outcome === 'requested'
      ? await leaveOperation(tx, move)
      : await endOperation(tx, now.machineId, move)
  if (!ended) throw notThere(id)
  return { operation: ended, canceled: outcome }
}

/** Cancels the resumption of an evacuation whose operation has ended: the machine stays on its host. */
const dropResumption = async (tx: Tx, ended: OperationRow, by: string): Promise<OperationRow> => {
  await stopResumptions(tx, ended.machineId)
  await insertAuditEvent(tx, {
    type: 'operation.stays-down',
    subject: { type: 'operation', id: ended.id },
    actor: by,
    reason: 'It does not come back: the machine stays where it is.',
    detail: { machine: ended.machineId, kind: ended.kind, force: ended.force, cause: ended.cause },
  })
  return { ...ended, comeBackAt: null }
}

const notThere = (id: string): DroverError =>
  new DroverError({
    code: 'operation-absent',
    class: 'permanent',
    message: `There is no operation ${id}.`,
    remedy: 'List the operations.',
  })

const pastReturn = ({ kind, id }: OperationRow): DroverError =>
  new DroverError({
    code: 'past-return',
    class: 'conflict',
    message: `${kind} ${id} cannot be canceled: it is past its return, where only its end is left.`,
    remedy: 'Wait for its end, then ask for what leads from there to where you want the machine.',
    detail: { blocker: id },
  })

const tooLate = ({ kind, id }: OperationRow, why: string): DroverError =>
  new DroverError({
    code: 'operation-ended',
    class: 'conflict',
    message: `${kind} ${id} cannot be canceled. ${why}`,
    remedy: 'Ask for what leads from here to where you want the machine.',
  })

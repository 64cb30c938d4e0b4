import type { Tx } from '../../../db/client.ts'
import { findMachine } from '../../../db/queries/machines/machine-rows.ts'
import {
  notePolicyEnd,
  noteResumption,
  noteStopped,
} from '../../../db/queries/operations/operation-followups.ts'
import { moveOperation, type OperationMove } from '../../../db/queries/operations/operation-rows.ts'
import type { MachineRow, OperationRow } from '../../../db/schema/operation.ts'
import {
  type OperationFollowups,
  operationFollowups,
} from '../../domain/operation/admission/operation-followups.ts'
import { mergeWarnings } from '../../inventory/connection/warnings.ts'

/** From this many failures in a row, a warning says that the run policy cannot be kept. */
const policyFailuresTold = 3
const warningTypes = ['policy-fails'] as const

/** Ends an operation and records what follows for its machine, which is locked. Undefined: the operation does not exist any more. */
export const moveToEnd = async (tx: Tx, move: OperationMove): Promise<OperationRow | undefined> => {
  const ended = await moveOperation(tx, move)
  if (ended) await noteEnd(tx, ended, move.actor)
  return ended
}

const noteEnd = async (tx: Tx, ended: OperationRow, actor: string): Promise<void> => {
  const { machineId } = ended
  const machine = ended.cause === 'policy' ? await findMachine(tx, machineId) : undefined
  const after = operationFollowups({
    kind: ended.kind,
    cause: ended.cause,
    state: ended.state,
    begun: ended.startedAt !== null,
    standsDown: ended.standsDown,
    failures: machine?.policyFailures ?? ended.failures,
  })
  if (after.stopped !== undefined) await noteStopped(tx, machineId, after.stopped)
  if (after.resumption) await noteResumption(tx, ended.id, after.resumption)
  if (after.policy && machine) await notePolicy(tx, { machine, ended, actor, policy: after.policy })
}

interface PolicyEnd {
  readonly machine: MachineRow
  readonly ended: OperationRow
  readonly actor: string
  readonly policy: NonNullable<OperationFollowups['policy']>
}

const notePolicy = async (tx: Tx, { machine, ended, actor, policy }: PolicyEnd): Promise<void> => {
  await notePolicyEnd(tx, machine.id, policy)
  if (policy.failures < policyFailuresTold) return
  const place = { entityType: 'machine', entityId: machine.id, entityName: machine.name }
  const said = `${machine.runPolicy}: its ${ended.kind} failed ${policy.failures} times in a row. ${ended.message}`
  await mergeWarnings(tx, place, { types: warningTypes, said: { 'policy-fails': [said] }, actor })
}

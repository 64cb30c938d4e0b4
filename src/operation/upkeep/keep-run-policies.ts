import type { Db } from '../../../db/client.ts'
import { findPolicyMachines } from '../../../db/queries/machines/policy-machines.ts'
import { notePolicyEnd } from '../../../db/queries/operations/operation-followups.ts'
import type { MachineRow } from '../../../db/schema/operation.ts'
import { restSeconds, wantedByPolicy } from '../../domain/operation/admission/run-policy.ts'
import type { Logger } from '../../process/log.ts'
import type { OperationAsk } from '../admission/ask-operation.ts'
import { askForEach, type DesiredOperation } from '../admission/desired-operation.ts'

/** A target that comes back after an outage may show a thousand machines off: not all of them are started at once. */
const openPerTarget = 50
const roundMost = 20
const waitSeconds = 600
const deadlineSeconds = 900
const by = 'run-policy'

/** One round: machines that are not as their run policy wants them get an operation. True: there may be more. */
export const keepRunPolicies = async (db: Db, log: Logger): Promise<boolean> => {
  const machines = await findPolicyMachines(db, { limit: roundMost, openPerTarget })
  await askForEach(
    { db, log },
    machines.map((machineId) => ({ machineId })),
    kept,
  )
  return machines.length === roundMost
}

const kept: DesiredOperation<{ readonly machineId: string }> = {
  askFor: async (_tx, _wanted, machine) => wantedOf(machine),
  rest: (tx, _wanted, { id, policyFailures }) => {
    const failures = policyFailures + 1
    return notePolicyEnd(tx, id, { failures, restSeconds: restSeconds(failures) })
  },
}

const wantedOf = (machine: MachineRow): OperationAsk | undefined => {
  const kind = wantedByPolicy({
    policy: machine.runPolicy,
    power: machine.power,
    hibernated: machine.savedState !== null,
    stoppedByPerson: machine.stoppedAt !== null,
  })
  if (kind === null) return undefined
  return {
    machineId: machine.id,
    kind,
    force: false,
    params: {},
    onConflict: 'reject',
    cause: 'policy',
    deadlineSeconds,
    waitSeconds,
    by,
  }
}

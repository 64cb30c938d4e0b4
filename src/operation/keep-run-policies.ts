import type { Db, Tx } from '../../db/client.ts'
import { notePolicyEnd } from '../../db/queries/after-end.ts'
import { lockMachine } from '../../db/queries/machine-rows.ts'
import { findPolicyMachines } from '../../db/queries/policy-machines.ts'
import type { RunPolicy } from '../domain/operation/applicability.ts'
import type { MachineSeen } from '../domain/operation/phase.ts'
import { restSeconds, wantedByPolicy } from '../domain/operation/run-policy.ts'
import { DroverError } from '../errors.ts'
import { nudge } from '../ledger/nudge.ts'
import type { Logger } from '../log.ts'
import { askOperation, type OperationAsk } from './ask-operation.ts'
import { recordRefusal } from './record-refusal.ts'

/** A target that comes back after an outage may show a thousand machines off: not all of them are started at once. */
const openPerTarget = 50
const roundMost = 20
const waitSeconds = 600
const deadlineSeconds = 900
const by = 'run-policy'

/** One round: machines that are not as their run policy wants them get an operation. True: there may be more. */
export const keepRunPolicies = async (db: Db, log?: Logger): Promise<boolean> => {
  const machines = await findPolicyMachines(db, { limit: roundMost, openPerTarget })
  for (const id of machines) await keepPolicy(db, id, log)
  if (machines.length > 0) nudge(db)
  return machines.length === roundMost
}

const keepPolicy = async (db: Db, machineId: string, log: Logger | undefined): Promise<void> => {
  let asked: OperationAsk | undefined
  try {
    await db.begin(async (tx) => {
      asked = await askFor(tx, machineId)
      if (asked) await askOperation(tx, asked)
    })
  } catch (error) {
    if (!asked) throw error
    // What is no refusal is a defect or a database that is away: the others do not wait for it either.
    if (error instanceof DroverError) await recordRefusal(db, asked, error)
    else if (log) log.warn({ err: error, machine: asked.machineId }, 'an operation could not be asked for')
    else throw error
    await db.begin((tx) => restAfterRefusal(tx, machineId))
  }
}

/** What its policy wants of it, judged again under its lock. */
const askFor = async (tx: Tx, machineId: string): Promise<OperationAsk | undefined> => {
  const machine = await lockMachine(tx, machineId)
  if (!machine) return undefined
  const kind = wantedByPolicy({
    policy: machine.runPolicy as RunPolicy,
    power: machine.power as MachineSeen['power'],
    hibernated: machine.savedState !== null,
    stoppedByPerson: machine.stoppedAt !== null,
  })
  if (kind === null) return undefined
  return {
    ...{ machineId, kind, force: false, params: {}, onConflict: 'reject', cause: 'policy' },
    ...{ deadlineSeconds, waitSeconds, by },
  }
}

const restAfterRefusal = async (tx: Tx, machineId: string): Promise<void> => {
  const machine = await lockMachine(tx, machineId)
  if (!machine) return
  const failures = machine.policyFailures + 1
  await notePolicyEnd(tx, machineId, { failures, restSeconds: restSeconds(failures) })
}

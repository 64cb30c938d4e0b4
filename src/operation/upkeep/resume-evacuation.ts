import type { Db } from '../../../db/client.ts'
import { noteResumption } from '../../../db/queries/operations/operation-followups.ts'
import { findOperation } from '../../../db/queries/operations/operation-rows.ts'
import { findResumptions } from '../../../db/queries/operations/resume-evacuation.ts'
import { resumptionBounds } from '../../domain/operation/admission/operation-followups.ts'
import { restSeconds } from '../../domain/operation/admission/run-policy.ts'
import type { Logger } from '../../process/log.ts'
import { askForEach, type DesiredOperation } from '../admission/desired-operation.ts'

const roundMost = 50
const waitSeconds = 3_600

/**
 * One round: resumes evacuations that were superseded or failed, once no other operation is open at their machine. True:
 * there may be more.
 */
export const resumeEvacuations = async (db: Db, log: Logger): Promise<boolean> => {
  const standing = await findResumptions(db, { bounds: resumptionBounds, limit: roundMost })
  await askForEach({ db, log }, standing, onceMore)
  return standing.length === roundMost
}

/** Requests the same operation again, unless the resumption was cancelled. */
const onceMore: DesiredOperation<{ readonly id: string; readonly machineId: string }> = {
  askFor: async (tx, { id, machineId }) => {
    const older = await findOperation(tx, id)
    if (!older || older.comeBackAt === null) return undefined
    return {
      machineId,
      kind: older.kind,
      force: older.force,
      params: older.params,
      onConflict: 'reject',
      cause: 'evacuation',
      by: older.createdBy,
      deadlineSeconds: older.deadlineSeconds,
      waitSeconds,
      resumes: { id: older.id, leaves: older.leaves, failures: older.failures },
    }
  },
  rest: async (tx, { id }) => {
    const older = await findOperation(tx, id)
    if (!older || older.comeBackAt === null) return
    const failures = older.failures + 1
    await noteResumption(tx, older.id, { failures, restSeconds: restSeconds(failures) })
  },
}

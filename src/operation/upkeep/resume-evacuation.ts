import type { Db } from '../../../db/client.ts'
import { noteComeBack } from '../../../db/queries/operations/operation-followups.ts'
import { findOperation } from '../../../db/queries/operations/operation-rows.ts'
import { findComingBack } from '../../../db/queries/operations/resume-evacuation.ts'
import { wishBounds } from '../../domain/operation/admission/operation-followups.ts'
import { restSeconds } from '../../domain/operation/admission/run-policy.ts'
import type { Logger } from '../../process/log.ts'
import { askEach, type Wish } from '../admission/desired-operation.ts'

const roundMost = 50
const waitSeconds = 3_600

/**
 * One round: operations of evacuations that gave way, or failed, come back once nothing else is done to their machine.
 * True: there may be more.
 */
export const bringBack = async (db: Db, log: Logger): Promise<boolean> => {
  const standing = await findComingBack(db, { bounds: wishBounds, limit: roundMost })
  await askEach({ db, log }, standing, onceMore)
  return standing.length === roundMost
}

/** The same once more, unless somebody has taken the wish back. */
const onceMore: Wish<{ readonly id: string; readonly machineId: string }> = {
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
    await noteComeBack(tx, older.id, { failures, restSeconds: restSeconds(failures) })
  },
}

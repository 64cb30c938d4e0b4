import type { Db, Tx } from '../../db/client.ts'
import { noteComeBack } from '../../db/queries/after-end.ts'
import { lockMachine } from '../../db/queries/machine-rows.ts'
import { findOperation } from '../../db/queries/operation-rows.ts'
import { findComingBack } from '../../db/queries/standing-down.ts'
import type { OperationKind } from '../domain/operation/kinds.ts'
import { restSeconds } from '../domain/operation/run-policy.ts'
import { DroverError } from '../errors.ts'
import { nudge } from '../ledger/nudge.ts'
import type { Logger } from '../log.ts'
import { askOperation, type OperationAsk } from './ask-operation.ts'
import { recordRefusal } from './record-refusal.ts'

const roundMost = 50
const waitSeconds = 3_600

/**
 * One round: operations of evacuations that gave way, or failed, come back once nothing else is done to their machine.
 * True: there may be more.
 */
export const bringBack = async (db: Db, log?: Logger): Promise<boolean> => {
  const standing = await findComingBack(db, roundMost)
  for (const { id, machineId } of standing) await comeBack(db, { id, machineId }, log)
  if (standing.length > 0) nudge(db)
  return standing.length === roundMost
}

const comeBack = async (
  db: Db,
  from: { readonly id: string; readonly machineId: string },
  log: Logger | undefined,
): Promise<void> => {
  let asked: OperationAsk | undefined
  try {
    await db.begin(async (tx) => {
      asked = await askFor(tx, from)
      if (asked) await askOperation(tx, asked)
    })
  } catch (error) {
    if (!asked) throw error
    // What is no refusal is a defect or a database that is away: the others do not wait for it either.
    if (error instanceof DroverError) await recordRefusal(db, asked, error)
    else if (log) log.warn({ err: error, machine: asked.machineId }, 'an operation could not be asked for')
    else throw error
    await db.begin((tx) => restAfterRefusal(tx, from))
  }
}

/** The same once more, under the machine's lock; undefined: somebody has taken the wish back. */
const askFor = async (
  tx: Tx,
  from: { readonly id: string; readonly machineId: string },
): Promise<OperationAsk | undefined> => {
  await lockMachine(tx, from.machineId)
  const older = await findOperation(tx, from.id)
  if (!older || older.comeBackAt === null) return undefined
  return {
    ...{ machineId: from.machineId, kind: older.kind as OperationKind, force: older.force },
    ...{ params: older.params, onConflict: 'reject', cause: 'evacuation', by: older.createdBy },
    ...{ deadlineSeconds: older.deadlineSeconds, waitSeconds },
    resumes: { id: older.id, leaves: older.leaves, failures: older.failures },
  }
}

const restAfterRefusal = async (
  tx: Tx,
  from: { readonly id: string; readonly machineId: string },
): Promise<void> => {
  await lockMachine(tx, from.machineId)
  const older = await findOperation(tx, from.id)
  if (!older || older.comeBackAt === null) return
  const failures = older.failures + 1
  await noteComeBack(tx, older.id, { failures, restSeconds: restSeconds(failures) })
}

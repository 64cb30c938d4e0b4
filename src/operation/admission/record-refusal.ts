import type { Db } from '../../../db/client.ts'
import { recordCancelRefusalRow } from '../../../db/queries/operations/record-cancel-refusal.ts'
import { type RefusalRecord, recordRefusalRows } from '../../../db/queries/operations/record-refusals.ts'
import { type OperationReason, operationReasons } from '../../domain/operation/kinds/reasons.ts'
import { DroverError } from '../../errors.ts'
import type { OperationAsk } from './ask-operation.ts'

/** What was asked for and the error that was the answer. */
export interface RefusedAsk {
  readonly ask: Pick<OperationAsk, 'machineId' | 'kind' | 'force' | 'cause' | 'by'>
  readonly error: unknown
}

/**
 * Writes down refusals, which the rollback of their admission has left no trace of. In a transaction of its own, to
 * be called after that one; what is no refusal of ours is left alone. Of a dry run nothing is written: do not call it.
 */
export const recordRefusals = async (db: Db, refused: readonly RefusedAsk[]): Promise<void> => {
  const records = new Map<string, RefusalRecord>()
  for (const { ask, error } of refused) {
    const record = recordOf(ask, error)
    if (record) records.set(keyOf(record), record)
  }
  if (records.size > 0) await db.begin((tx) => recordRefusalRows(tx, [...records.values()]))
}

/** The same for one. */
export const recordRefusal = (db: Db, ask: RefusedAsk['ask'], error: unknown): Promise<void> =>
  recordRefusals(db, [{ ask, error }])

/** The operation is there, and is not given up for that. */
const cancelRefusals = ['past-return', 'operation-ended']

/** Writes down that somebody was told that an operation cannot be given up any more; to be called after the rollback. */
export const recordCancelRefusal = async (
  db: Db,
  { id, by, error }: { readonly id: string; readonly by: string; readonly error: unknown },
): Promise<void> => {
  if (!(error instanceof DroverError) || !cancelRefusals.includes(error.code)) return
  const { code: reason, message } = error
  await recordCancelRefusalRow(db, { operationId: id, reason, message, askedBy: by })
}

const recordOf = (ask: RefusedAsk['ask'], error: unknown): RefusalRecord | undefined => {
  if (!(error instanceof DroverError) || !Object.hasOwn(operationReasons, error.code)) return undefined
  const blocker = error.detail?.blocker
  return {
    machineId: ask.machineId,
    kind: ask.kind,
    force: ask.force,
    cause: ask.cause,
    askedBy: ask.by,
    reason: error.code as OperationReason,
    blocker: typeof blocker === 'string' ? blocker : null,
    message: error.message,
  }
}

const keyOf = ({ machineId, kind, force, reason, askedBy }: RefusalRecord): string =>
  [machineId, kind, force, reason, askedBy].join(' ')

import type { Db } from '../../../db/client.ts'
import { recordCancelRefusalRow } from '../../../db/queries/operations/record-cancel-refusal.ts'
import { type RefusalRecord, recordRefusalRows } from '../../../db/queries/operations/record-refusals.ts'
import { type OperationReason, operationReasons } from '../../domain/operation/kinds/reasons.ts'
import { DroverError } from '../../errors.ts'
import type { OperationAsk } from './ask-operation.ts'

/** A request and the error that it was answered with. */
export interface RefusedAsk {
  readonly ask: Pick<OperationAsk, 'machineId' | 'kind' | 'force' | 'cause' | 'by'>
  readonly error: unknown
}

/**
 * Records refusals, which the rollback of their admission has removed. Runs in a transaction of its own, after that
 * rollback; other errors are left alone. Not for dry runs, which record nothing.
 */
export const recordRefusals = async (db: Db, refused: readonly RefusedAsk[]): Promise<void> => {
  const records = new Map<string, RefusalRecord>()
  for (const { ask, error } of refused) {
    const record = recordOf(ask, error)
    if (record) records.set(keyOf(record), record)
  }
  if (records.size > 0) await db.begin((tx) => recordRefusalRows(tx, [...records.values()]))
}

/** The same for one request. */
export const recordRefusal = (db: Db, ask: RefusedAsk['ask'], error: unknown): Promise<void> =>
  recordRefusals(db, [{ ask, error }])

/** The operation exists and is not cancelled. */
const cancelRefusals = ['past-return', 'operation-ended']

/** Records that a person was told that an operation can no longer be cancelled; called after the rollback. */
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

import type { Tx } from '../../../db/client.ts'
import { type AskedOperation, askOperation, type OperationAsk } from './ask-operation.ts'

/** Carries what was found out of a part of a transaction that is taken back. */
class TakenBack extends Error {
  readonly asked: AskedOperation

  constructor(asked: AskedOperation) {
    super('taken back')
    this.asked = asked
  }
}

/** What would become of it: all of the admission is done, looked at, and taken back. Throws what the admission throws. */
export const rehearseOperation = async (tx: Tx, ask: OperationAsk): Promise<AskedOperation> => {
  try {
    await tx.savepoint(async (part) => {
      throw new TakenBack(await askOperation(part as Tx, ask))
    })
  } catch (error) {
    if (error instanceof TakenBack) return error.asked
    throw error
  }
  throw new Error('A rehearsal was not taken back.')
}

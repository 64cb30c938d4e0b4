import type { Tx } from '../../../db/client.ts'
import { type AskedOperation, askOperation, type OperationAsk } from './ask-operation.ts'

/** Carries the admission out of the savepoint that is rolled back. */
class TakenBack extends Error {
  readonly asked: AskedOperation

  constructor(asked: AskedOperation) {
    super('taken back')
    this.asked = asked
  }
}

/** A dry run: does the whole admission in a savepoint and rolls it back. Throws what the admission throws. */
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

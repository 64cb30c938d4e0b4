import type { Db } from '../../../db/client.ts'
import { mayForce, type OperationKind } from '../../../src/domain/operation/kinds/kinds.ts'
import { operationParams } from '../../../src/domain/operation/kinds/params.ts'
import { operationReasons } from '../../../src/domain/operation/kinds/reasons.ts'
import { DroverError } from '../../../src/errors.ts'
import { type AskedOperation, askOperation } from '../../../src/operation/admission/ask-operation.ts'
import { cancelOperation } from '../../../src/operation/admission/cancel-operation.ts'

export interface Ask {
  readonly kind: OperationKind
  readonly force: boolean
  readonly onConflict: 'supersede' | 'queue' | 'reject'
  /** Of an eviction: an evacuation wants it. */
  readonly evacuates: boolean
  /** Which of what the kind can be given. */
  readonly twist: number
}

const snapshot = 'taken'

const paramsOf = ({ kind, twist }: Ask): Record<string, unknown> => {
  const wanted: Partial<Record<OperationKind, Record<string, unknown>>> = {
    migrate: twist < 2 ? {} : { host: `node-${twist}` },
    wake: { cold: twist === 0 },
    snapshot: twist === 0 ? { name: snapshot } : {},
    restore: { snapshot },
    clone: { name: 'copy' },
  }
  return wanted[kind] ?? {}
}

/** Asks as the API does; a refusal is an answer. Gives what was wrong with the answer. */
export const askFor = async (db: Db, machineId: string, ask: Ask): Promise<string[]> => {
  const { kind, force, onConflict } = ask
  const evacuates = ask.evacuates && kind === 'evict'
  try {
    const { operation, superseded } = (await db.begin((tx) =>
      askOperation(tx, {
        ...{ machineId, kind, force: force && mayForce(kind), onConflict },
        params: operationParams[kind].parse(paramsOf(ask)),
        ...{ cause: evacuates ? 'evacuation' : 'person', by: evacuates ? 'drain' : 'test' },
        ...{ deadlineSeconds: 20, waitSeconds: 3_600 },
      }),
    )) as AskedOperation
    return [
      ...(superseded && onConflict !== 'supersede' ? [`${operation.id} was not to supersede`] : []),
      ...(superseded && superseded.supersededBy !== operation.id
        ? [`${superseded.id} does not say who took its place`]
        : []),
    ]
  } catch (error) {
    if (!(error instanceof DroverError) || !Object.hasOwn(operationReasons, error.code)) throw error
    return []
  }
}

/** A person gives it up. True: it is given up. */
export const giveUp = async (db: Db, id: string): Promise<boolean> => {
  try {
    await db.begin((tx) => cancelOperation(tx, { id, by: 'test' }))
    return true
  } catch (error) {
    if (!(error instanceof DroverError)) throw error
    return false
  }
}

import type { Db, Tx } from '../../../db/client.ts'
import { tryLockMachine } from '../../../db/queries/machines/machine-rows.ts'
import type { MachineRow } from '../../../db/schema/operation.ts'
import { DroverError } from '../../errors.ts'
import { nudge } from '../../ledger/jobs/nudge.ts'
import type { Logger } from '../../process/log.ts'
import { askOperation, type OperationAsk } from './ask-operation.ts'
import { recordRefusal } from './record-refusal.ts'

export interface RoundParts {
  readonly db: Db
  readonly log: Logger
}

/**
 * An operation that Drover itself requests: to keep a run policy, or to resume an evacuation. Both functions are called
 * under the lock of the machine.
 */
export interface DesiredOperation<Wanted> {
  /** The request, decided anew; undefined: the operation is not wanted any more. */
  readonly askFor: (tx: Tx, wanted: Wanted, machine: MachineRow) => Promise<OperationAsk | undefined>
  /** The request was refused or failed: schedules the next try. */
  readonly rest: (tx: Tx, wanted: Wanted, machine: MachineRow) => Promise<void>
}

/** Requests each operation in its own transaction: a machine that is locked, refused or broken does not delay the others. */
export const askForEach = async <Wanted extends { readonly machineId: string }>(
  parts: RoundParts,
  all: readonly Wanted[],
  desired: DesiredOperation<Wanted>,
): Promise<void> => {
  for (const wanted of all) {
    try {
      await askOne(parts, wanted, desired)
    } catch (error) {
      parts.log.warn({ err: error, machine: wanted.machineId }, 'a machine could not be left to rest')
    }
  }
  if (all.length > 0) nudge(parts.db)
}

const askOne = async <Wanted extends { readonly machineId: string }>(
  { db, log }: RoundParts,
  wanted: Wanted,
  desired: DesiredOperation<Wanted>,
): Promise<void> => {
  const { machineId } = wanted
  let asked: OperationAsk | undefined
  try {
    await db.begin(async (tx) => {
      const machine = await tryLockMachine(tx, machineId)
      if (!machine || machine === 'busy') return
      asked = await desired.askFor(tx, wanted, machine)
      if (asked) await askOperation(tx, asked)
    })
  } catch (error) {
    // An error that is not a refusal is a defect, or Postgres is unreachable.
    if (asked && error instanceof DroverError) await recordRefusal(db, asked, error)
    else log.warn({ err: error, machine: machineId }, 'an operation could not be asked for')
    await db.begin(async (tx) => {
      const machine = await tryLockMachine(tx, machineId)
      if (machine && machine !== 'busy') await desired.rest(tx, wanted, machine)
    })
  }
}

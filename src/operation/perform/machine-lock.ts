import type { Tx } from '../../../db/client.ts'
import { lockMachine } from '../../../db/queries/machines/machine-rows.ts'
import type { JobContext } from '../../ledger/job.ts'

/** A job's context without the transaction that would lock the job first. */
export type MachineContext = Omit<JobContext, 'transaction'>

interface AtMachine {
  readonly ctx: MachineContext
  readonly machine: { readonly id: string }
}

/**
 * A fenced change by a job at a machine. The machine is locked before the job, in the same order as in requests for
 * other operations: the reverse order could deadlock.
 */
export const underMachineLock = <Value>(
  { ctx, machine }: AtMachine,
  change: (tx: Tx) => Promise<Value>,
): Promise<Value> =>
  ctx.lateFencedTransaction(async (tx) => {
    await lockMachine(tx, machine.id)
    return change(tx)
  })

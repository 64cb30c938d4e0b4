import type { Tx } from '../../db/client.ts'
import { setOperationJob } from '../../db/queries/operation-rows.ts'
import type { OperationRow } from '../../db/schema/operation.ts'
import { enqueue } from '../ledger/enqueue.ts'

/** What people wait for goes before what a programme began. */
const priorities: Readonly<Record<string, number>> = { person: 20, policy: 0, evacuation: 10 }

/** Gives an operation whose turn has come its job. */
export const sendOperation = async (tx: Tx, made: OperationRow): Promise<OperationRow> => {
  const [job] = await enqueue(tx, [
    {
      kind: 'operate-machine',
      payload: { operation_id: made.id },
      subject: { type: 'operation', id: made.id },
      lane: `machines/${made.cause}`,
      priority: priorities[made.cause] ?? 0,
      createdBy: made.createdBy,
    },
  ])
  if (!job) throw new Error('An operation has no job.')
  return setOperationJob(tx, made.id, job.id)
}

import type { Tx } from '../../../db/client.ts'
import { findTargetName } from '../../../db/queries/machines/find-operated-machine.ts'
import { setOperationJob } from '../../../db/queries/operations/operation-rows.ts'
import type { OperationRow } from '../../../db/schema/operation.ts'
import { enqueue } from '../../ledger/jobs/enqueue.ts'

/** Operations that people wait for go before operations that a program started. */
const priorities: Readonly<Record<string, number>> = { person: 20, policy: 0, evacuation: 10 }
/** A forced stop by a person is urgent: it goes before a bulk request for a thousand machines. */
const plugPriority = 30

/** The priority within the lane of its target. */
export const priorityOf = ({ cause, kind, force }: Pick<OperationRow, 'cause' | 'kind' | 'force'>): number =>
  cause === 'person' && kind === 'stop' && force ? plugPriority : (priorities[cause] ?? 0)

/**
 * Enqueues the job of an operation whose turn has come. The lane is the target, because a target that hangs blocks only
 * its own operations, and no lane may use all slots. Within the lane the priority alone decides.
 */
export const sendOperation = async (tx: Tx, made: OperationRow): Promise<OperationRow> => {
  const target = await findTargetName(tx, made.machineId)
  const [job] = await enqueue(tx, [
    {
      kind: 'operate-machine',
      payload: { operation_id: made.id },
      subject: { type: 'operation', id: made.id },
      lane: `machines/${target}`,
      priority: priorityOf(made),
      createdBy: made.createdBy,
    },
  ])
  if (!job) throw new Error('An operation has no job.')
  return setOperationJob(tx, made.id, job.id)
}

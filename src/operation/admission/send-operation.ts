import type { Tx } from '../../../db/client.ts'
import { findTargetName } from '../../../db/queries/machines/find-operated-machine.ts'
import { setOperationJob } from '../../../db/queries/operations/operation-rows.ts'
import type { OperationRow } from '../../../db/schema/operation.ts'
import { enqueue } from '../../ledger/jobs/enqueue.ts'

/** What people wait for goes before what a programme began. */
const priorities: Readonly<Record<string, number>> = { person: 20, policy: 0, evacuation: 10 }
/** Who pulls a plug by hand is in a hurry: it does not stand behind what was asked of a thousand others. */
const plugPriority = 30

/** Within the lane of its target. */
export const priorityOf = ({ cause, kind, force }: Pick<OperationRow, 'cause' | 'kind' | 'force'>): number =>
  cause === 'person' && kind === 'stop' && force ? plugPriority : (priorities[cause] ?? 0)

/**
 * Gives an operation whose turn has come its job. Its lane is its target: what hangs hangs on that, and no lane takes
 * all the slots there are. Within it the priority alone decides.
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

import type { Tx } from '../../../db/client.ts'
import { clearStaleStates } from '../../../db/queries/machines/clear-stale-states.ts'
import { noteMachine } from '../../../db/queries/machines/machine-rows.ts'
import type { MachineRow } from '../../../db/schema/operation.ts'

/**
 * Records what a job has seen of a machine. A machine that is on has run since its memory was saved: clears
 * `savedState` unless the caller sets it.
 */
export const noteSeen = async (
  tx: Tx,
  of: { readonly machineId: string; readonly jobId: string },
  seen: Partial<Pick<MachineRow, 'power' | 'host' | 'savedState'>>,
): Promise<void> => {
  await noteMachine(tx, of.machineId, seen)
  if (seen.power === 'on' && seen.savedState === undefined)
    await clearStaleStates(tx, { machineId: of.machineId }, of.jobId)
}

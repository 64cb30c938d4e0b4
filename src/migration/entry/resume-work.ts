import type { Tx } from '../../../db/client.ts'
import { lockBatch } from '../../../db/queries/batches/batch-rows.ts'
import { deletePause, type PauseKey } from '../../../db/queries/fleet/pauses.ts'
import { DroverError } from '../../errors.ts'

const ofBatch = 'batch/'

/**
 * Resumes a kind or a lane; false: it was not paused. Refuses the lane of a stopped batch: its entries would go on to
 * their cutovers while the batch is shown as stopped. A start of the batch resumes it.
 */
export const resumeBySomebody = async (tx: Tx, key: PauseKey, by: string): Promise<boolean> => {
  if (key.scope === 'lane' && key.name.startsWith(ofBatch)) {
    const batch = await lockBatch(tx, key.name.slice(ofBatch.length))
    if (batch?.state === 'stopped')
      throw new DroverError({
        code: 'batch-stopped',
        class: 'conflict',
        message: `The batch ${batch.name} is stopped: its lane goes on when the batch does.`,
        remedy: 'Start the batch.',
        detail: { batch: batch.name },
      })
  }
  return await deletePause(tx, key, by)
}

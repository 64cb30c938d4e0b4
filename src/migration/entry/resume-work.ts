import type { Tx } from '../../../db/client.ts'
import { lockBatch } from '../../../db/queries/batches/batch-rows.ts'
import { deletePause, type PauseKey } from '../../../db/queries/fleet/pauses.ts'
import { DroverError } from '../../errors.ts'

const ofBatch = 'batch/'

/**
 * Lets a kind or a lane go on; false: it was not paused. Not the lane of a stopped batch: its machines would go on to
 * their cutovers while everything says that they rest. A start of the batch is what lets that go on.
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

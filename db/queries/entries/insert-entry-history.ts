import { v7 as uuidv7 } from 'uuid'
import type { Tx } from '../../client.ts'

/** Records the duration of a part of an entry: the basis of predictions. */
export const insertEntryHistory = async (
  tx: Tx,
  sample: {
    readonly sourceId: string
    readonly targetId: string
    readonly phase: string
    readonly bytes: number
    readonly tookMs: number
  },
): Promise<void> => {
  await tx`
    insert into entry_history (id, source_id, target_id, phase, bytes, took_ms)
    values (${uuidv7()}::uuid, ${sample.sourceId}::uuid, ${sample.targetId}::uuid, ${sample.phase}, ${sample.bytes},
      ${Math.round(sample.tookMs)})`
}

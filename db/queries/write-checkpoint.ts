import type { Queryable } from '../client.ts'

/** Replaces a running job's checkpoint (JSON text), only while its epoch holds. */
export const writeCheckpoint = async (
  db: Queryable,
  jobId: string,
  epoch: number,
  checkpoint: string,
): Promise<boolean> => {
  const rows = await db`
    update job set checkpoint = ${checkpoint}::text::jsonb
    where id = ${jobId}::uuid and lease_epoch = ${epoch} and state = 'running' returning 1`
  return rows.length === 1
}

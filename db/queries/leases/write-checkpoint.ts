import type { Queryable } from '../../client.ts'

/**
 * Replaces a running job's checkpoint (JSON text), only while its epoch holds. A job that progresses does not kill its
 * workers: the count of lost workers is reset, or five outages in a week would fail a long copy.
 */
export const writeCheckpoint = async (
  db: Queryable,
  jobId: string,
  epoch: number,
  checkpoint: string,
): Promise<boolean> => {
  const rows = await db`
    update job set checkpoint = ${checkpoint}::text::jsonb,
      lost = case when checkpoint is distinct from ${checkpoint}::text::jsonb then 0 else lost end
    where id = ${jobId}::uuid and lease_epoch = ${epoch} and state = 'running' returning 1`
  return rows.length === 1
}

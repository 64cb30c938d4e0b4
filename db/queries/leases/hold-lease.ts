import type { Tx } from '../../client.ts'

/**
 * Proves inside a transaction that the epoch still holds, and keeps it so until the commit: a claim by another worker
 * waits for the row. Every fenced write of a handler starts with this.
 */
export const holdLease = async (tx: Tx, jobId: string, epoch: number): Promise<boolean> => {
  const rows = await tx`
    select 1 from job where id = ${jobId}::uuid and lease_epoch = ${epoch} and state = 'running' for share`
  return rows.length === 1
}

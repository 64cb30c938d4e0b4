import type { Tx } from '../client.ts'

/** A ready job of this generation, locked until the transaction ends; undefined when it is no longer that. */
export const lockReadyJob = async (
  tx: Tx,
  job: { id: string; generation: number },
): Promise<{ cancelRequested: boolean; tokens: string[] } | undefined> => {
  const [row] = await tx<{ cancelRequested: boolean; tokens: string[] }[]>`
    select cancel_requested_at is not null as cancel_requested, tokens from job
    where id = ${job.id}::uuid and generation = ${job.generation} and state = 'ready' for update`
  return row
}

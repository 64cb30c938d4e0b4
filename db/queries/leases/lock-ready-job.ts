import type { Tx } from '../../client.ts'

export interface LockedJob {
  readonly kind: string
  readonly lane: string
  readonly cancelRequested: boolean
  readonly tokens: string[]
}

/** A ready job of this generation, locked until the transaction ends; undefined when it is no longer that. */
export const lockReadyJob = async (
  tx: Tx,
  job: { id: string; generation: number },
): Promise<LockedJob | undefined> => {
  const [row] = await tx<LockedJob[]>`
    select kind, lane, cancel_requested_at is not null as cancel_requested, tokens from job
    where id = ${job.id}::uuid and generation = ${job.generation} and state = 'ready' for update`
  return row
}

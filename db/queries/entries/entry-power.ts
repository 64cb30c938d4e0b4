import type { Tx } from '../../client.ts'

export interface HeldEntry {
  readonly id: string
  readonly state: string
  /** Whether its target runs at the end. */
  readonly running: boolean
  /** Whether the source ran when its record was frozen. */
  readonly sourceRan: boolean
  /** A verification has begun, even if it is waiting now: it uses the power state from its start. */
  readonly verifying: boolean
}

/**
 * The entry of an instance, locked until the transaction ends. A transaction that needs both locks takes this one
 * first.
 */
export const lockEntryOfInstance = async (tx: Tx, instanceId: string): Promise<HeldEntry | undefined> => {
  const [row] = await tx<(Omit<HeldEntry, 'verifying'> & { readonly jobId: string | null })[]>`
    select id, state, running, (facts ->> 'running')::boolean as source_ran, job_id from entry
    where instance_id = ${instanceId}::uuid for no key update`
  if (!row) return undefined
  // Only now: a verification that begins waits for the lock of the entry and then reads it again.
  const begun = await tx`
    select 1 from job where id = ${row.jobId}::uuid and kind = 'final-verify' and finished_at is null
      and started_at is not null`
  return { ...row, verifying: begun.length > 0 }
}

/** Sets the power state of an entry's target at its end. */
export const writeEntryPower = async (tx: Tx, id: string, running: boolean): Promise<void> => {
  await tx`update entry set running = ${running}, version = version + 1, updated_at = now() where id = ${id}::uuid`
}

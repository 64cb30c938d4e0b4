import type { Tx } from '../../client.ts'

export interface HeldEntry {
  readonly id: string
  readonly state: string
  /** Whether its target runs at the end. */
  readonly running: boolean
  /** Whether the source ran when the record was taken. */
  readonly sourceRan: boolean
  /** A verification has begun at it, whether or not it stands still now: it goes by how the target was to end then. */
  readonly verifying: boolean
}

/** The entry that an instance has, locked until the transaction ends. Whoever needs both locks takes this one first. */
export const lockEntryOfInstance = async (tx: Tx, instanceId: string): Promise<HeldEntry | undefined> => {
  const [row] = await tx<(Omit<HeldEntry, 'verifying'> & { readonly jobId: string | null })[]>`
    select id, state, running, (facts ->> 'running')::boolean as source_ran, job_id from entry
    where instance_id = ${instanceId}::uuid for no key update`
  if (!row) return undefined
  // Only now: a verification that begins waits for the lock of the entry, and then reads it anew.
  const begun = await tx`
    select 1 from job where id = ${row.jobId}::uuid and kind = 'final-verify' and finished_at is null
      and started_at is not null`
  return { ...row, verifying: begun.length > 0 }
}

/** How the target of an entry ends. */
export const writeEntryPower = async (tx: Tx, id: string, running: boolean): Promise<void> => {
  await tx`update entry set running = ${running}, version = version + 1, updated_at = now() where id = ${id}::uuid`
}

import type { Tx } from '../client.ts'

export interface HeldEntry {
  readonly id: string
  readonly state: string
  /** Whether its target runs at the end. */
  readonly running: boolean
  /** Whether the source ran when the record was taken. */
  readonly sourceRan: boolean
}

/** The entry that an instance has, locked until the transaction ends. Whoever needs both locks takes this one first. */
export const lockEntryOfInstance = async (tx: Tx, instanceId: string): Promise<HeldEntry | undefined> => {
  const [row] = await tx<HeldEntry[]>`
    select id, state, running, (facts ->> 'running')::boolean as source_ran from entry
    where instance_id = ${instanceId}::uuid for no key update`
  return row
}

/** How the target of an entry ends. */
export const writeEntryPower = async (tx: Tx, id: string, running: boolean): Promise<void> => {
  await tx`update entry set running = ${running}, version = version + 1, updated_at = now() where id = ${id}::uuid`
}

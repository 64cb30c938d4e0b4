import type { EntryStage, EntryState } from '../../src/domain/migration/entry.ts'
import { isCommitted } from '../../src/domain/migration/entry.ts'
import type { Queryable, Tx } from '../client.ts'
import type { MachineRow } from '../schema/operation.ts'

export const findMachine = async (db: Queryable, id: string): Promise<MachineRow | undefined> => {
  const [row] = await db<MachineRow[]>`select * from machine where id = ${id}::uuid`
  return row
}

/** Locked until the transaction ends: operations on one machine are admitted, promoted and ended in turn. */
export const lockMachine = async (tx: Tx, id: string): Promise<MachineRow | undefined> => {
  const [row] = await tx<MachineRow[]>`select * from machine where id = ${id}::uuid for no key update`
  return row
}

/** The migration that made the machine, while it has asked the source to switch off and has not ended. */
export const findCommittedEntry = async (tx: Tx, machine: MachineRow): Promise<string | null> => {
  if (machine.entryId === null) return null
  const [row] = await tx<{ id: string; state: EntryState; stage: EntryStage }[]>`
    select id, state, stage from entry where id = ${machine.entryId}::uuid for share`
  return row && isCommitted(row) ? row.id : null
}

/** What was seen of it just now; what is not given stays. */
export const noteMachine = async (
  tx: Tx,
  id: string,
  seen: Partial<Pick<MachineRow, 'power' | 'host' | 'savedState'>>,
): Promise<void> => {
  await tx`
    update machine set power = coalesce(${seen.power ?? null}, power), host = coalesce(${seen.host ?? null}, host),
      saved_state = case when ${seen.savedState === undefined} then saved_state else ${seen.savedState ?? null} end,
      seen_at = now()
    where id = ${id}::uuid`
}

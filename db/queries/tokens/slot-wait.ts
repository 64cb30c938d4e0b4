import type { Tx } from '../../client.ts'

/**
 * Pauses one of the two clocks of an operation that has started, and resumes the other. During a slot wait the deadline
 * is paused and the wait timeout runs; during work it is the reverse. The paused time is added to the end of the paused
 * clock. An operation whose deadline has passed cannot start a slot wait.
 */
export const noteSlotWait = async (tx: Tx, id: string, waitsForSlot: boolean): Promise<void> => {
  await tx`
    update operation set
      expires_at = case when ${waitsForSlot} then expires_at + (now() - coalesce(let_in_at, started_at)) else expires_at end,
      deadline_at = case when ${waitsForSlot} then deadline_at else deadline_at + (now() - in_line_since) end,
      let_in_at = case when ${waitsForSlot} then let_in_at else now() end,
      in_line_since = case when ${waitsForSlot} then now() end, updated_at = now()
    where id = ${id}::uuid and state = 'running' and (in_line_since is null) = ${waitsForSlot}
      and (not ${waitsForSlot} or deadline_at > now())`
}

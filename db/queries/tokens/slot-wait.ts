import type { Tx } from '../../client.ts'

/**
 * Stops one of the two clocks of an operation that has begun, and lets the other go on: in line its deadline stands
 * still and its patience runs, at work it is the other way round. What the one has stood is added to where it ends. One
 * whose deadline has passed does not get into line any more.
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

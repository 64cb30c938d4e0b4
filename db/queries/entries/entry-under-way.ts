import type { Queryable } from '../../client.ts'

/**
 * A condition: the job (`j`, joined from the left) is active for its entry. A failed withdrawal still is: it is
 * retried, and must not be dropped.
 */
export const jobIsAtEntry = (db: Queryable) =>
  db`(j.id is not null and (j.finished_at is null or (j.kind = 'withdraw-entry' and j.state <> 'succeeded')))`

/** A condition: something is or will be in progress for the entry (`e`) with its job (`j`), so it cannot be dropped. */
export const entryIsUnderWay = (db: Queryable) => db`
  (e.state not in ('finished', 'error', 'canceled') or e.intent is not null or ${jobIsAtEntry(db)}
    or (e.source_stopped_at is not null and e.state <> 'finished'))`

/** Entries that a reset removes and that are not gone yet. */
export const countLeaving = async (db: Queryable, batchId: string): Promise<number> => {
  const [row] = await db<{ leaving: number }[]>`
    select count(*)::int as leaving from entry where batch_id = ${batchId}::uuid and intent ->> 'verb' = 'reset'`
  return row?.leaving ?? 0
}

import type { Queryable, Tx } from '../../client.ts'
import type { EffectRow } from '../../schema/effect.ts'

/** All effects of one kind of the jobs of an entry, in any state. */
export const listEntryEffects = async (
  db: Queryable,
  asked: { readonly entryId: string; readonly kind: string },
): Promise<EffectRow[]> => db<EffectRow[]>`
  select * from effect where subject_type = 'entry' and subject_id = ${asked.entryId} and kind = ${asked.kind}
  order by created_at, id`

/**
 * The number of debts of one kind that earlier jobs of an entry have left. Something waits for them, so each is
 * retried within half a minute.
 */
export const hastenEntryDebts = async (
  tx: Tx,
  asked: { readonly entryId: string; readonly kind: string; readonly jobId: string },
): Promise<number> => {
  const rows = await tx`
    update effect set next_try_at = least(next_try_at, now() + interval '30 seconds')
    where subject_type = 'entry' and subject_id = ${asked.entryId} and kind = ${asked.kind}
      and job_id <> ${asked.jobId}::uuid and state = 'debt'`
  return rows.count
}

import type { Queryable } from '../client.ts'
import type { EffectRow } from '../schema/effect.ts'

/** All effects of one kind that the jobs of an entry have had, whatever became of them. */
export const listEntryEffects = async (
  db: Queryable,
  asked: { readonly entryId: string; readonly kind: string },
): Promise<EffectRow[]> => db<EffectRow[]>`
  select * from effect where subject_type = 'entry' and subject_id = ${asked.entryId} and kind = ${asked.kind}
  order by created_at, id`

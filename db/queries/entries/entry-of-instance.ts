import type { EntryStage, EntryState } from '../../../src/domain/migration/entry/entry.ts'
import type { Queryable } from '../../client.ts'

/** The entry of an instance, if any. */
export interface InstanceEntry {
  readonly id: string
  readonly state: EntryState
  readonly stage: EntryStage
}

export const findEntryOfInstance = async (
  db: Queryable,
  instanceId: string,
): Promise<InstanceEntry | undefined> => {
  const [row] = await db<InstanceEntry[]>`
    select id, state, stage from entry where instance_id = ${instanceId}::uuid and state <> 'finished'`
  return row
}

/** Whether a cancelled entry is still active at its instance. */
export const isEntryStillActive = async (
  db: Queryable,
  of: { readonly entryId: string; readonly instanceId: string },
): Promise<boolean> => {
  const rows = await db`
    select 1 from entry e join instance i on i.id = e.instance_id
    where e.id = ${of.entryId}::uuid and i.id = ${of.instanceId}::uuid
      and (e.state = 'canceled' or e.intent ->> 'verb' = 'cancel')
      and (i.frozen_by is not null or e.source_stopped_at is not null)`
  return rows.length > 0
}
